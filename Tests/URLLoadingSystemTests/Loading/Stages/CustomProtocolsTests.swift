import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

@Suite struct CustomProtocolsTests {
  @Test func aTaskCanBeCancelledWhileAClassBlocksAboutARedirect() async throws {
    let server = try await LoopbackServer.start { _ in .redirect(to: "blocking:x") }
    try await server.withSession(configure: { $0.protocolClasses = [BlockingProtocol.self] }) { server, session in
      let codes = Recorder<URLError.Code?>()
      let task = session.dataTask(with: server.url("/")) { codes.record(($2 as? URLError)?.code) }
      task.resume()
      _ = try await BlockingProtocol.asked.next()
      defer { BlockingProtocol.release.signal() }
      task.cancel()
      let code = try await codes.next()
      #expect(code == .cancelled)
    }
  }

  private final class BlockingProtocol: URLProtocol, @unchecked Sendable {
    // Sendable by hand: no state of its own.

    static let asked = Recorder<String>()
    static let release = DispatchSemaphore(value: 0)

    override class func canInit(with request: URLRequest) -> Bool {
      guard request.url?.scheme == "blocking" else { return false }
      asked.record("asked")
      release.wait()
      return false
    }
  }
}
