/// Dates as caches calculate with them: stricter than `HTTPDate`, because a date that is misread for a later one keeps
/// a response in use too long.
package enum CacheDate {
  /// Reads the three forms of RFC 9110 §5.6.7, in any case (RFC 9111 §4.2). Another zone than GMT, and everything else,
  /// is no date.
  package static func parse(_ text: String, now: Int64) -> Int64? {
    if let date = IMFFixdate.read(text) { return date.secondsSinceEpoch }
    return parseAnyForm(text, now: now)
  }

  static func parseAnyForm(_ text: String, now: Int64) -> Int64? {
    let bytes = Array(text.trimmingHTTPWhitespace().utf8)
    guard bytes.count <= 40, forms.contains(where: { matches(bytes, $0) }) else { return nil }
    return HTTPDate.parseAnyForm(String(decoding: bytes, as: UTF8.self), now: now)
  }

  /// The date that a field says; nil when it is absent, is no date, or the field is there twice with different values.
  package static func value(of name: String, in fields: HTTPFields, now: Int64) -> Int64? {
    var found: String?
    for field in fields.fields where asciiCaseInsensitiveEqual(field.name, name) {
      guard found == nil || found == field.value else { return nil }
      found = field.value
    }
    return found.flatMap { parse($0, now: now) }
  }

  /// `a` stands for a letter, `w` for the letters of a weekday, `0` for a digit, `_` for a digit or a space; everything
  /// else for itself, in any case.
  private static let forms = [
    "aaa, 00 aaa 0000 00:00:00 gmt", "w, 00-aaa-00 00:00:00 gmt", "aaa aaa _0 00:00:00 0000",
  ].map { Array($0.utf8) }

  private static func matches(_ text: [UInt8], _ form: [UInt8]) -> Bool {
    var rest = text[...]
    for expected in form {
      switch expected {
      case UInt8(ascii: "w"):
        let word = rest.prefix(while: \.isLetter)
        guard (6...9).contains(word.count) else { return false }
        rest = rest[word.endIndex...]
        continue
      case UInt8(ascii: "a"): guard rest.first?.isLetter == true else { return false }
      case UInt8(ascii: "0"): guard rest.first?.isDigit == true else { return false }
      case UInt8(ascii: "_"): guard let first = rest.first, first.isDigit || first == 0x20 else { return false }
      default: guard rest.first?.lowercased == expected else { return false }
      }
      rest.removeFirst()
    }
    return rest.isEmpty
  }
}
