/// Base64 with the alphabet of RFC 4648 §4.
package enum Base64 {
  package static func encoded(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var bits: UInt32 = 0
      for offset in 0..<3 { bits = bits << 8 | UInt32(offset < group.count ? group[start + offset] : 0) }
      for place in 0..<4 {
        let letter = alphabet[Int(bits >> UInt32(18 - 6 * place) & 0x3f)]
        text.append(place <= group.count ? letter : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// As browsers do (WHATWG Infra, "forgiving-base64 decode"): takes tab, LF, FF, CR and space anywhere, and text with or
  /// without its padding. nil when malformed.
  package static func decoded(_ text: some Collection<UInt8>) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.count / 4 * 3)
    var group: UInt32 = 0
    var digits = 0
    var padding = 0
    for byte in text where !isWhitespace(byte) {
      if byte == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      guard padding == 0, let value = value(of: byte) else { return nil }
      group = group << 6 | UInt32(value)
      digits += 1
      if digits == 4 {
        decoded.append(UInt8(truncatingIfNeeded: group >> 16))
        decoded.append(UInt8(truncatingIfNeeded: group >> 8))
        decoded.append(UInt8(truncatingIfNeeded: group))
        group = 0
        digits = 0
      }
    }
    switch (digits, padding) {
    case (0, 0):
      break
    case (2, 0), (2, 2):
      decoded.append(UInt8(truncatingIfNeeded: group >> 4))
    case (3, 0), (3, 1):
      decoded.append(UInt8(truncatingIfNeeded: group >> 10))
      decoded.append(UInt8(truncatingIfNeeded: group >> 2))
    default:
      return nil
    }
    return decoded
  }

  private static func isWhitespace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0C || byte == 0x0D
  }

  private static func value(of byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - 0x41
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 0x61 + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 0x30 + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
