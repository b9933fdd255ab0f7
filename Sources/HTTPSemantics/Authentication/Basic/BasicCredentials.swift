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
  package static func fieldValue(
    username: String, password: UnsafeRawBufferPointer, announcesUTF8: Bool = false
  ) -> String? {
    let username = CredentialText.prepared(username, announcesUTF8: announcesUTF8)
    guard !username.utf8.contains(UInt8(ascii: ":")), !CredentialText.hasControls(username) else { return nil }
    return CredentialText.withPrepared(password, announcesUTF8: announcesUTF8) { password in
      guard !password.contains(where: \.isControl) else { return nil }
      var text: [UInt8] = []
      text.reserveCapacity(username.utf8.count + 1 + password.count)
      defer { text.overwrite() }
      text += username.utf8
      text.append(UInt8(ascii: ":"))
      text += password
      return "Basic " + Base64.encoded(text)
    }
  }

  /// As above, with a password that is in ordinary memory.
  package static func fieldValue(username: String, password: String, announcesUTF8: Bool = false) -> String? {
    var password = password
    return password.withUTF8 {
      fieldValue(username: username, password: UnsafeRawBufferPointer($0), announcesUTF8: announcesUTF8)
    }
  }
}
