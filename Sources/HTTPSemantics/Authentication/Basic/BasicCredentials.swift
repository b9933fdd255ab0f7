/// The value of Authorization or Proxy-Authorization for the Basic scheme (RFC 7617 §2).
package enum BasicCredentials {
  /// The value to send. Either part may be empty.
  ///
  /// The text is in UTF-8, also where the server does not announce a charset: RFC 7617 §2 leaves that choice open, and
  /// UTF-8 is the only charset that the RFC knows a name for.
  ///
  /// - Parameter announcesUTF8: whether the challenge has `charset="UTF-8"`. The text is then in normalization form C
  ///   (RFC 7617 §2.1).
  /// - Returns: nil when the name holds a colon, which would end it early, or when either part holds a control
  ///   character (RFC 7617 §2).
  package static func fieldValue(username: String, password: String, announcesUTF8: Bool = false) -> String? {
    let username = CredentialText.prepared(username, announcesUTF8: announcesUTF8)
    let password = CredentialText.prepared(password, announcesUTF8: announcesUTF8)
    guard !username.utf8.contains(UInt8(ascii: ":")), !CredentialText.hasControls(username),
      !CredentialText.hasControls(password)
    else { return nil }
    return "Basic " + Base64.encoded(Array("\(username):\(password)".utf8))
  }
}
