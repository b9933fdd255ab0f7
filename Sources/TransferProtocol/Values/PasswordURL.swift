/// The text of a URL, taken apart so that its password can be kept elsewhere. The text is not judged otherwise.
package struct PasswordURL: Sendable, Equatable {
  /// Without the password, and without the colon before it.
  package let url: String
  /// As it stood in the URL, where some characters are escapes; nil where there was none.
  package let password: String?

  package init(_ text: String) {
    guard let user = PasswordURL.userInformation(of: text),
      let colon = text.utf8[user].firstIndex(of: UInt8(ascii: ":"))
    else {
      (url, password) = (text, nil)
      return
    }
    url = String(text[..<colon] + text[user.upperBound...])
    password = String(text[text.utf8.index(after: colon)..<user.upperBound])
  }

  /// The URL with a password of an earlier `PasswordURL`. A URL that names no user is left as it is.
  package static func adding(_ password: String, to url: String) -> String {
    guard let user = userInformation(of: url) else { return url }
    return "\(url[..<user.upperBound]):\(password)\(url[user.upperBound...])"
  }

  /// RFC 3986 §3.2.1: the part of the authority before its last `@`.
  private static func userInformation(of text: String) -> Range<String.Index>? {
    let bytes = text.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
      return nil
    }
    let start = bytes.index(colon, offsetBy: 3)
    let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
    return bytes[start..<end].lastIndex(of: UInt8(ascii: "@")).map { start..<$0 }
  }
}
