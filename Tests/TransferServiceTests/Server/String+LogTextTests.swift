import Testing

@testable import TransferService

@Suite struct StringLogTextTests {
  @Test func longTextsOfAppsAreCut() {
    let whole = String(repeating: "x", count: 200)
    #expect(whole.logText == whole)
    #expect((whole + "yz").logText == whole + "…")
    #expect(String(repeating: "😀", count: 1_000_000).logText.utf8.count == 203)
    #expect((String(repeating: "x", count: 199) + "é").logText.hasPrefix(String(repeating: "x", count: 199)))
  }
}
