/// Host names as HSTS compares them (RFC 6797 §8.2, §10).
enum HSTSHostName {
  /// In lower case and without the dot of the root. nil for an IP address, and for text that is no ASCII name.
  static func normalized(_ host: String) -> String? {
    let text = host.asciiLowercased()
    let name = text.utf8.last == UInt8(ascii: ".") ? text.utf8.dropLast() : text.utf8[...]
    let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let isName = name.count <= 253 && labels.allSatisfy { !$0.isEmpty && $0.allSatisfy(isOfName) }
    // A last label of digits alone is a form of IPv4 address, such as 127.1.
    guard isName, let last = labels.last, !last.allSatisfy(\.isDigit) else { return nil }
    return String(Substring(name))
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }
}
