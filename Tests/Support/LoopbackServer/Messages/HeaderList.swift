/// Header fields in the order and spelling in which they are on the wire.
package typealias HeaderList = [(name: String, value: String)]

/// Field names compare without regard to ASCII case (RFC 9110 §5.1).
func isSameFieldName(_ one: String, _ other: String) -> Bool {
  one.lowercased() == other.lowercased()
}

extension Sequence where Element == (name: String, value: String) {
  /// Every value of the field, in order.
  package func values(_ name: String) -> [String] {
    compactMap { isSameFieldName($0.name, name) ? $0.value : nil }
  }

  /// Whether a comma-separated field such as Connection lists `token`, in any case.
  func lists(_ token: String, in name: String) -> Bool {
    values(name).contains { value in
      value.split(separator: ",").contains {
        String($0).trimmingBlanks().lowercased() == token
      }
    }
  }
}

extension String {
  /// Without the spaces and tabs around it (OWS, RFC 9110 §5.6.3).
  func trimmingBlanks() -> String {
    var text = self[...]
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }
}
