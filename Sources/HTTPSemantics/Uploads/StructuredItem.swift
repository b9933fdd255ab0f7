/// The kinds of structured fields (RFC 9651) that uploads need. Parameters are allowed and ignored.
package enum StructuredItem {
  /// RFC 9651 §4.2.8: `?0` or `?1`.
  package static func boolean(_ field: String) -> Bool? {
    switch bareItem(field) {
    case "?1": true
    case "?0": false
    default: nil
    }
  }

  /// RFC 9651 §4.2.4: up to fifteen digits. Negative numbers mean nothing here.
  package static func integer(_ field: String) -> Int64? {
    let text = bareItem(field)
    guard text.utf8.count <= 15 else { return nil }
    return Int64(decimalDigits: text.utf8)
  }

  /// RFC 9651 §3.2: the members of a dictionary that are integers; of a repeated key the last counts. nil when it is
  /// no dictionary.
  package static func integers(_ field: String) -> [String: Int64]? {
    var found: [String: Int64] = [:]
    for member in field.split(separator: ",", omittingEmptySubsequences: false) {
      let text = String(member).trimmingHTTPWhitespace()
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let key = parts.first.map(String.init), isKey(bareItem(key)) else { return nil }
      found[bareItem(key)] = parts.count == 2 ? integer(String(parts[1])) : nil
    }
    return found
  }

  private static func bareItem(_ field: String) -> String {
    String(field.prefix { $0 != ";" }).trimmingHTTPWhitespace()
  }

  private static func isKey(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "_-.*".utf8.contains(byte)
      }
  }
}
