/// The values of header fields as logs may have them.
package enum ShownFields {
  static let notShown = "(not shown)"

  private static let secrets = ["authorization", "proxy-authorization", "cookie", "set-cookie"]

  /// The value without what tells who the user is: all of some fields, of others the users and passwords of the URLs in
  /// them.
  package static func value(_ value: String, of name: String) -> String {
    secrets.contains(name.lowercased()) ? notShown : withoutUsers(value)
  }

  /// Leaves user and password out of each URL: what stands between two slashes and an at sign (RFC 3986 §3.2.1). Any other
  /// text is left as it is.
  static func withoutUsers(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
    var shown: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      shown.append(byte)
      guard byte == UInt8(ascii: "/"), rest.first == byte, let next = rest.popFirst() else { continue }
      shown.append(next)
      let authority = rest.prefix { !authorityEnds.contains($0) }
      if let sign = authority.lastIndex(of: UInt8(ascii: "@")) { rest = rest[(sign + 1)...] }
    }
    return String(decoding: shown, as: UTF8.self)
  }

  /// The bytes that no authority has. A comma may be of a password: rather too much is left out of a list than too little.
  private static let authorityEnds = Array("/?#\"<> \t".utf8)
}
