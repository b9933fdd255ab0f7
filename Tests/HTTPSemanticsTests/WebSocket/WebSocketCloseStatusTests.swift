import HTTPSemantics
import Testing

@Suite struct WebSocketCloseStatusTests {
  @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999])
  func codesThatMayBeSent(_ code: UInt16) throws {
    let payload = [UInt8(code >> 8), UInt8(code & 0xFF)] + Array("bye".utf8)
    let status = try WebSocketCloseStatus(payload: payload)
    #expect(status == WebSocketCloseStatus(code: code, reason: Array("bye".utf8)))
    #expect(status.payload == payload)
  }

  @Test(arguments: [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535])
  func codesThatMayNotBeSent(_ code: UInt16) {
    #expect(throws: WebSocketViolation.invalidCloseCode(code)) {
      try WebSocketCloseStatus(payload: [UInt8(code >> 8), UInt8(code & 0xFF)])
    }
    #expect(WebSocketCloseStatus(wishedCode: Int(code), reason: Array("why".utf8)).payload.isEmpty)
  }

  @Test func payloads() throws {
    #expect(try WebSocketCloseStatus(payload: []) == .none)
    #expect(throws: WebSocketViolation.closePayloadTooShort) { try WebSocketCloseStatus(payload: [3]) }
    #expect(throws: WebSocketViolation.invalidUTF8) { try WebSocketCloseStatus(payload: [3, 0xE8, 0xFF]) }
    #expect(throws: WebSocketViolation.invalidUTF8) { try WebSocketCloseStatus(payload: [3, 0xE8, 0xE2, 0x82]) }
  }

  @Test func appCodesAndReasonsAreMadeValid() {
    // 62 characters of two bytes are one byte too many: the last is left out whole.
    let long = WebSocketCloseStatus(wishedCode: 1000, reason: Array(String(repeating: "é", count: 70).utf8))
    #expect(long.reason == Array(String(repeating: "é", count: 61).utf8))
    #expect(long.payload.count <= 125)
    let broken = WebSocketCloseStatus(wishedCode: 4000, reason: [0x61, 0xFF])
    #expect(broken.reason == Array("a\u{FFFD}".utf8))
    #expect(WebSocketCloseStatus(wishedCode: -1, reason: []).code == nil)
    #expect(WebSocketCloseStatus(wishedCode: 70_000, reason: []).code == nil)
  }
}
