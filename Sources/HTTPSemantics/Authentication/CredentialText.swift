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

  /// The same for a password, which is left where it is unless it must be normalized: then there is a copy of it, which is
  /// zeroed behind the call. No text ever has more of it than a letter with its accents.
  static func withPrepared<Result>(
    _ password: UnsafeRawBufferPointer, announcesUTF8: Bool, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    guard announcesUTF8, !password.allSatisfy({ $0 < 0x80 }) else { return body(password) }
    var bytes: [UInt8] = []
    // A scalar has three times as many bytes at most when it is normalized (UAX #15, table 1), and one of a byte that is
    // no UTF-8 has three: the memory never moves.
    bytes.reserveCapacity(password.count * 3)
    defer { bytes.overwrite() }
    var letter = ""
    func take() {
      bytes += letter.precomposedStringWithCanonicalMapping.utf8
      letter = ""
    }
    var decoder = UTF8()
    var rest = password.makeIterator()
    decoding: while true {
      let scalar: Unicode.Scalar
      switch decoder.decode(&rest) {
      case .scalarValue(let read): scalar = read
      case .error: scalar = "\u{FFFD}"
      case .emptyInput: break decoding
      }
      if !mayCompose(scalar) { take() }
      letter.unicodeScalars.append(scalar)
    }
    take()
    return bytes.withUnsafeBytes(body)
  }

  /// Whether normalization may join a scalar with one before it: marks, the vowels and final consonants of Hangul, and the
  /// vowels of Kirat Rai.
  private static func mayCompose(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x300 else { return false }
    switch scalar.value {
    case 0x1160...0x11FF, 0x1_6D63...0x1_6D67: return true
    default: break
    }
    let properties = scalar.properties
    if properties.canonicalCombiningClass != .notReordered { return true }
    switch properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: return true
    default: return false
    }
  }

  static func hasControls(_ text: String) -> Bool { text.utf8.contains(where: \.isControl) }
}
