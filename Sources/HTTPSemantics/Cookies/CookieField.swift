/// The value of a Cookie field (RFC 6265bis §5.8.3 step 4), cookie by cookie.
package struct CookieField {
  private var text = ""

  package init() {}

  /// nil when there is no cookie.
  package var value: String? { text.isEmpty ? nil : text }

  package mutating func add(name: String, value: String) {
    if !text.isEmpty { text += "; " }
    if !name.isEmpty {
      text += name
      text += "="
    }
    text += value
  }
}
