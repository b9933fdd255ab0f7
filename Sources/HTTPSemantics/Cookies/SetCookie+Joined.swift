extension SetCookie {
  /// Takes apart several Set-Cookie values that were joined with commas, as a dictionary of header fields has them.
  ///
  /// A comma separates two cookies only when a name and an equals sign follow it: the comma of
  /// `Expires=Wed, 09 Jun 2027 10:18:14 GMT` does not. Line breaks around such a comma are space.
  package static func split(joined: String) -> [String] {
    var cookies: [String] = []
    let bytes = joined.utf8
    var start = bytes.startIndex
    var index = start
    while let comma = bytes[index...].firstIndex(of: UInt8(ascii: ",")) {
      index = bytes.index(after: comma)
      if beginsWithNameAndEquals(bytes[index...]) {
        cookies.append(String(joined[start..<comma]))
        start = index
      }
    }
    cookies.append(String(joined[start...]))
    return cookies.map(trimmed).filter { !$0.isEmpty }
  }

  private static func trimmed(_ cookie: String) -> String {
    let start = cookie.utf8.drop(while: isSpace)
    let end = start.lastIndex { !isSpace($0) }
    return end.map { String(Substring(start[...$0])) } ?? ""
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte.isHTTPWhitespace || byte == 0x0a || byte == 0x0d }

  private static func beginsWithNameAndEquals(_ rest: Substring.UTF8View) -> Bool {
    let afterSpace = rest.drop(while: isSpace)
    let name = afterSpace.prefix(while: \.isToken)
    guard !name.isEmpty else { return false }
    return afterSpace[name.endIndex...].first { !$0.isHTTPWhitespace } == UInt8(ascii: "=")
  }
}
