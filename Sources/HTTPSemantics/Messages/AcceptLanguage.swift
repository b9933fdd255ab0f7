/// The languages that a user reads, as Accept-Language says them (RFC 9110 §12.5.4).
package enum AcceptLanguage {
  /// More languages than this say nothing new to a server, and tell users apart.
  private static let mostLanguages = 6

  /// The value of the field; nil where the environment names no language.
  ///
  /// As gettext reads it: LC_ALL, else LC_MESSAGES, else LANG is the locale, and LANGUAGE, unless the locale is `C` or
  /// `POSIX`, lists languages that are preferred to it.
  package static func value(environment: [String: String]) -> String? {
    let names = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }
    guard let locale = names.first(where: { !$0.isEmpty }), let last = tag(of: locale) else { return nil }
    var tags: [String] = []
    for tag in (environment["LANGUAGE"] ?? "").split(separator: ":").map({ tag(of: String($0)) }) + [last] {
      if let tag, !tags.contains(tag) { tags.append(tag) }
    }
    return tags.prefix(mostLanguages).enumerated().map { $0 == 0 ? $1 : "\($1);q=0.\(10 - $0)" }.joined(separator: ",")
  }

  /// `de_CH.UTF-8@euro` is `de-CH`; nil for `C`, `POSIX` and what is no language tag (RFC 5646 §2.1).
  private static func tag(of locale: String) -> String? {
    let name = locale.prefix { $0 != "." && $0 != "@" }
    let parts = name.split(separator: "_", omittingEmptySubsequences: false)
    guard let language = parts.first, (2...8).contains(language.utf8.count), language != "POSIX",
      language.utf8.allSatisfy(isLetter),
      parts.dropFirst().allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(isLetterOrDigit) })
    else { return nil }
    return parts.joined(separator: "-")
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool { isLetter(byte) || byte.isDigit }
}
