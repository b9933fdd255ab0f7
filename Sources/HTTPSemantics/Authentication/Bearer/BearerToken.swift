/// A token of the Bearer scheme (RFC 6750 §2.1).
package struct BearerToken: Sendable, Equatable {
  private let text: String

  /// nil unless the text is a token68: letters, digits, `-._~+/`, and `=` only at the end.
  package init?(_ text: String) {
    let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    let start = text.utf8.dropLast(padding)
    guard !start.isEmpty, start.allSatisfy({ $0.isLetter || $0.isDigit || "-._~+/".utf8.contains($0) }) else {
      return nil
    }
    self.text = text
  }

  /// The value of Authorization or Proxy-Authorization.
  package var fieldValue: String { "Bearer " + text }
}
