/// The content of one Set-Cookie field, before it is judged against the URL it came from (RFC 6265bis §5.6).
package struct SetCookie: Sendable, Equatable {
  /// §5.5: no cookie lasts longer than 400 days from when it was received.
  package static let longestLifetime: Int64 = 400 * 86_400

  package enum SameSite: Sendable { case none, lax, strict }

  /// Empty for a cookie without a name, which is sent as its value alone.
  package var name: String
  package var value: String
  /// The Domain attribute in lower case and without its leading dot; nil when it is absent or empty.
  package var domain: String?
  /// The Path attribute; nil when it is absent or not absolute, so that the default path applies.
  package var path: String?
  /// When the cookie ends, in seconds since 1970: Max-Age, else Expires. nil: with the session.
  package var expires: Int64?
  package var isSecure = false
  package var isHTTPOnly = false
  package var sameSite: SameSite?
  /// Whether the cookie is for the top-level site alone at which it was set (draft-cutler-httpbis-partitioned-cookies).
  package var isPartitioned = false
  /// The purpose of the cookie, and a page about it (RFC 2965 §3.2.2). They decide nothing.
  package var comment: String?
  package var commentURL: String?

  package init(name: String, value: String) {
    self.name = name
    self.value = value
  }

  /// Reads one field value.
  /// - Parameter now: seconds since 1970, from which Max-Age counts.
  /// - Returns: nil when the field must be ignored.
  package static func parse(_ field: String, now: Int64) -> SetCookie? {
    // Step 1: a control character other than tab drops the whole cookie.
    guard !field.utf8.contains(where: { $0.isControl && $0 != 0x09 }) else { return nil }
    // Bytes are split, not characters: to Swift, `;` with an accent above it is another character than `;`.
    var parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
    guard let pair = parts.popFirst() else { return nil }
    // Step 3: without an equals sign all of it is the value of a cookie without a name.
    let equals = pair.firstIndex(of: UInt8(ascii: "="))
    let name = equals.map { trimmed(pair[..<$0]) } ?? ""
    let value = trimmed(equals.map { pair[pair.index(after: $0)...] } ?? pair)
    // Step 5: name and value together are limited to 4096 octets. §5.7 step 2: one of them is there.
    guard !(name.isEmpty && value.isEmpty), name.utf8.count + value.utf8.count <= 4_096 else { return nil }
    var cookie = SetCookie(name: name, value: value)
    var maximumAge: Int64?
    var expires: Int64?
    for part in parts {
      let equals = part.firstIndex(of: UInt8(ascii: "="))
      let attribute = trimmed(part[..<(equals ?? part.endIndex)]).asciiLowercased()
      let text = equals.map { trimmed(part[part.index(after: $0)...]) } ?? ""
      // Step 6 of the attributes: values of more than 1024 octets are ignored.
      guard text.utf8.count <= 1_024 else { continue }
      switch attribute {
      case "expires": expires = CookieDate.parse(text).map { min($0, now + longestLifetime) } ?? expires
      case "max-age": maximumAge = deltaSeconds(text).map { end(in: $0, now: now) } ?? maximumAge
      case "domain": cookie.domain = domain(text)
      case "path": cookie.path = text.utf8.first == UInt8(ascii: "/") ? text : nil
      case "secure": cookie.isSecure = true
      case "httponly": cookie.isHTTPOnly = true
      case "samesite": cookie.sameSite = sameSite(text)
      case "partitioned": cookie.isPartitioned = true
      case "comment": cookie.comment = text.isEmpty ? nil : text
      case "commenturl": cookie.commentURL = text.isEmpty ? nil : text
      default: break
      }
    }
    // §5.7 step 3: Max-Age wins over Expires.
    cookie.expires = maximumAge ?? expires
    return cookie
  }

  private static func trimmed(_ bytes: Substring.UTF8View) -> String {
    String(Substring(bytes)).trimmingHTTPWhitespace()
  }

  /// §5.6.2: digits, after a minus sign perhaps; anything else is ignored.
  private static func deltaSeconds(_ text: String) -> Int64? {
    let isNegative = text.hasPrefix("-")
    let digits = text.utf8.dropFirst(isNegative ? 1 : 0)
    guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
    // More digits than fit mean for ever.
    let seconds = Int64(decimalDigits: digits) ?? .max
    return isNegative ? -seconds : seconds
  }

  /// §5.6.2: zero and less end the cookie at once.
  private static func end(in seconds: Int64, now: Int64) -> Int64 {
    seconds > 0 ? now + min(seconds, longestLifetime) : -62_135_596_800
  }

  private static func domain(_ text: String) -> String? {
    let isDotted = text.utf8.first == UInt8(ascii: ".")
    let name = (isDotted ? String(Substring(text.utf8.dropFirst())) : text).asciiLowercased()
    return name.isEmpty ? nil : name
  }

  private static func sameSite(_ text: String) -> SameSite? {
    switch text.asciiLowercased() {
    case "none": SameSite.none
    case "lax": .lax
    case "strict": .strict
    default: nil
    }
  }
}
