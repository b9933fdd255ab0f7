/// Values in the text of replies.
extension FTPReply {
  /// The port of a 229 (RFC 2428 §3): `(|||port|)`, with any visible character for the bars. nil where there is none.
  package var extendedPassivePort: Int? {
    guard code == 229, let text = lines.last, let open = text.firstIndex(of: UInt8(ascii: "(")) else { return nil }
    let inner = text[(open + 1)...].prefix { $0 != UInt8(ascii: ")") }
    guard let mark = inner.first, (33...126).contains(mark), !mark.isDigit else { return nil }
    let parts = inner.split(separator: mark, omittingEmptySubsequences: false)
    // Protocol and address should be empty, and are not looked at: they are those of the control connection.
    guard parts.count == 5, parts[0].isEmpty, parts[4].isEmpty else { return nil }
    return FTPReply.port(Int64(decimalDigits: parts[3]))
  }

  /// The port of a 227 (RFC 959 §4.1.2): the last two of `h1,h2,h3,h4,p1,p2`, wherever in the text they begin (RFC 1123
  /// §4.1.2.6). nil where there is none. The address is ignored: a client that uses it can be led to any machine.
  package var passivePort: Int? {
    guard code == 227, let text = lines.last, let first = text.firstIndex(where: \.isDigit) else { return nil }
    let list = text[first...].prefix { $0.isDigit || $0 == UInt8(ascii: ",") }
    let numbers = list.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      .map { Int64(decimalDigits: $0) ?? -1 }
    guard numbers.count == 6, numbers.allSatisfy({ (0...255).contains($0) }) else { return nil }
    return FTPReply.port(numbers[4] << 8 | numbers[5])
  }

  private static func port(_ number: Int64?) -> Int? {
    guard let number, (1...65_535).contains(number) else { return nil }
    return Int(number)
  }

  /// The moment of a 213 to MDTM (RFC 3659 §2.3, §3.2), in seconds since 1970: `YYYYMMDDhhmmss`, and perhaps a fraction.
  /// nil where there is none.
  package var date: Int64? {
    guard code == 213, let text = lines.last else { return nil }
    return FTPTime.parse(text.drop(while: \.isHTTPWhitespace))
  }

  /// The number of bytes of a 213 to SIZE (RFC 3659 §4.2). nil where there is none.
  package var size: Int64? {
    guard code == 213, let text = lines.last else { return nil }
    var digits = text[...]
    while digits.last?.isHTTPWhitespace == true { digits.removeLast() }
    return Int64(decimalDigits: digits)
  }
}
