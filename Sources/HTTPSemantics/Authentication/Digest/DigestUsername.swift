/// The user's name as a parameter of Authorization (RFC 7616 §3.4).
enum DigestUsername {
  /// `username` or `username*` with its value. `name` holds no control character.
  static func parameter(_ name: String, for challenge: DigestChallenge) -> String {
    // RFC 7616 §3.4.4: with userhash the name itself is never sent.
    if challenge.wantsUserHash {
      return "username=\"\(challenge.algorithm.hash.hex("\(name):\(challenge.realm ?? "")"))\""
    }
    if challenge.announcesUTF8, !name.utf8.allSatisfy({ $0 < 0x80 }) { return "username*=" + extended(name) }
    return "username=" + QuotedString.encoded(name)
  }

  /// RFC 5987 §3.2.
  private static func extended(_ text: String) -> String {
    var value = "UTF-8''"
    for byte in text.utf8 {
      if byte.isLetter || byte.isDigit || "!#$&+-.^_`|~".utf8.contains(byte) {
        value.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        value += "%" + [byte].hexText.uppercased()
      }
    }
    return value
  }
}
