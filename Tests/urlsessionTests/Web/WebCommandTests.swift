import Testing
import WebPage

@testable import urlsession

/// `urlsession web`
@Suite struct WebCommandTests {
  @Test(arguments: [("127.0.0.1", "127.0.0.1, port 8080"), ("::1", "[::1], port 8080")])
  func anAddressThatAnotherProgramHasIsNamed(_ address: String, _ text: String) {
    let failure = WebCommand.failure(WebAddressInUse(address: address, port: 8080))
    #expect(failure.what.hasSuffix("another program listens on \(text)"))
    #expect(failure.status == .serviceUnavailable)
  }

  @Test func aProgramWithoutThePageSaysHowToGetIt() {
    let line = WebCommand.isAbsent.line
    #expect(WebCommand.isAbsent.status == .usage)
    #expect(
      line.contains("--traits Web") && line.contains("make install") && line.contains("Debian package"), "\(line)")
  }
}
