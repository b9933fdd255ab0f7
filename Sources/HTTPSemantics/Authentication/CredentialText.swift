import Foundation

/// User names and passwords as the bytes that Basic and Digest make of them.
enum CredentialText {
  /// RFC 7617 §2.1 and RFC 7616 §3.3: `UTF-8` is the only value, in any case.
  static func announcesUTF8(_ challenge: AuthenticationChallenge) -> Bool {
    challenge.parameters["charset"].map { asciiCaseInsensitiveEqual($0, "UTF-8") } ?? false
  }

  /// The text whose UTF-8 is used. Normalization form C where the server announces the charset (RFC 7617 §2.1,
  /// RFC 7616 §4); otherwise as the app gave it.
  static func prepared(_ text: String, announcesUTF8: Bool) -> String {
    announcesUTF8 && !text.utf8.allSatisfy({ $0 < 0x80 }) ? text.precomposedStringWithCanonicalMapping : text
  }

  /// The same for a password, which is left where it is unless it must be normalized: then there is a copy of it.
  static func withPrepared<Result>(
    _ password: UnsafeRawBufferPointer, announcesUTF8: Bool, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    guard announcesUTF8, !password.allSatisfy({ $0 < 0x80 }) else { return body(password) }
    var bytes = Array(prepared(String(decoding: password, as: UTF8.self), announcesUTF8: true).utf8)
    defer { bytes.overwrite() }
    return bytes.withUnsafeBytes(body)
  }

  static func hasControls(_ text: String) -> Bool { text.utf8.contains(where: \.isControl) }
}
