/// The content of a close frame: a code and a reason, or nothing (RFC 6455 §5.5.1, §7.4).
package struct WebSocketCloseStatus: Sendable, Equatable {
  /// nil when the frame is empty; the application then sees 1005.
  package var code: UInt16?
  /// UTF-8, at most 123 bytes. Empty without a code.
  package var reason: [UInt8]

  package static let none = WebSocketCloseStatus(code: nil)

  package init(code: UInt16?, reason: [UInt8] = []) {
    self.code = code
    self.reason = reason
  }

  /// Reads a close frame's payload.
  package init(payload: some Collection<UInt8>) throws(WebSocketViolation) {
    self.init(code: nil)
    guard !payload.isEmpty else { return }
    guard payload.count >= 2 else { throw .closePayloadTooShort }
    let head = payload.prefix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
    guard WebSocketCloseStatus.mayBeSent(head) else { throw .invalidCloseCode(head) }
    let text = Array(payload.dropFirst(2))
    var utf8 = UTF8Validation()
    guard utf8.take(text), utf8.isComplete else { throw .invalidUTF8 }
    code = head
    reason = text
  }

  /// The part of an application's code and reason that may be sent: a code that stands only for what happened without a
  /// close frame is left out; a reason is made UTF-8 and cut to what fits, between two characters.
  package init(wishedCode: Int, reason: some Collection<UInt8>) {
    self.init(code: nil)
    guard let wished = UInt16(exactly: wishedCode), WebSocketCloseStatus.mayBeSent(wished) else { return }
    code = wished
    let text = Array(String(decoding: reason, as: UTF8.self).utf8)
    var end = min(text.count, WebSocketCloseStatus.longestReason)
    while end < text.count, end > 0, text[end] & 0xC0 == 0x80 { end -= 1 }
    self.reason = Array(text[..<end])
  }

  package var payload: [UInt8] {
    guard let code else { return [] }
    return [UInt8(code >> 8), UInt8(truncatingIfNeeded: code)] + reason
  }

  /// RFC 6455 §7.4.1 and §7.4.2, and the codes 1012 to 1014 that IANA has registered since. 1004 has no meaning, and
  /// 1005, 1006 and 1015 tell an application of what no frame said.
  package static func mayBeSent(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  /// A control frame carries 125 bytes, two of which are the code.
  private static let longestReason = 123
}
