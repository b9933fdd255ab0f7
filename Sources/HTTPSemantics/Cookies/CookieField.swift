/// The value of a Cookie field (RFC 6265bis §5.8.3 step 4).
package enum CookieField {
  /// - Returns: nil when there is no cookie.
  package static func value(of cookies: some Sequence<(name: String, value: String)>) -> String? {
    var text = ""
    for cookie in cookies {
      if !text.isEmpty { text += "; " }
      if !cookie.name.isEmpty {
        text += cookie.name
        text += "="
      }
      text += cookie.value
    }
    return text.isEmpty ? nil : text
  }
}
