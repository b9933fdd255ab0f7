/// A value as a quoted-string (RFC 9110 §5.6.4).
package enum QuotedString {
  /// `text` in quotes, with a backslash before each quote and each backslash.
  package static func encoded(_ text: String) -> String {
    var quoted: [UInt8] = [UInt8(ascii: "\"")]
    quoted.reserveCapacity(text.utf8.count + 2)
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { quoted.append(UInt8(ascii: "\\")) }
      quoted.append(byte)
    }
    quoted.append(UInt8(ascii: "\""))
    return String(decoding: quoted, as: UTF8.self)
  }
}
