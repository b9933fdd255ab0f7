/// The value of Authorization or Proxy-Authorization for the Basic scheme (RFC 7617 §2), in UTF-8.
package enum BasicCredentials {
  /// nil when the name holds a colon, which would end it early.
  package static func fieldValue(username: String, password: String) -> String? {
    guard !username.utf8.contains(UInt8(ascii: ":")) else { return nil }
    return "Basic " + base64(Array("\(username):\(password)".utf8))
  }

  /// RFC 4648 §4.
  static func base64(_ bytes: [UInt8]) -> String {
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
}
