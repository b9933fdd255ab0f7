extension MediaType {
  /// Reads a media type as browsers do (WHATWG MIME Sniffing Standard §4.4): stricter than `init(parsing:)` with names,
  /// and a comma ends nothing. nil when there is no type, no subtype, or one of them is no token.
  package init?(standard text: some Sequence<UInt8>) {
    var rest = Array(text)[...]
    rest = rest.drop(while: MediaType.isWhitespace)
    while rest.last.map(MediaType.isWhitespace) == true { rest.removeLast() }
    let type = rest.prefix { $0 != UInt8(ascii: "/") }
    rest = rest[type.endIndex...]
    guard !type.isEmpty, type.allSatisfy(\.isToken), rest.popFirst() != nil else { return nil }
    var subtype = rest.prefix { $0 != UInt8(ascii: ";") }
    rest = rest[subtype.endIndex...]
    while subtype.last.map(MediaType.isWhitespace) == true { subtype.removeLast() }
    guard !subtype.isEmpty, subtype.allSatisfy(\.isToken) else { return nil }
    self.init(type: MediaType.lowercased(type), subtype: MediaType.lowercased(subtype))
    while rest.popFirst() != nil, let (name, value) = MediaType.parameter(&rest) {
      if !name.isEmpty, name.allSatisfy(\.isToken), value.allSatisfy(MediaType.isValueByte) {
        parameters.addUnlessPresent(name: MediaType.lowercased(name), value: String(decoding: value, as: UTF8.self))
      }
    }
  }

  /// The parameter behind a semicolon, up to the next one; its name is empty where it has no value. nil at the end.
  private static func parameter(_ rest: inout ArraySlice<UInt8>) -> (name: ArraySlice<UInt8>, value: [UInt8])? {
    rest = rest.drop(while: isWhitespace)
    let name = rest.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") }
    rest = rest[name.endIndex...]
    guard let mark = rest.first else { return nil }
    guard mark == UInt8(ascii: "=") else { return ([], []) }
    rest.removeFirst()
    guard rest.first != UInt8(ascii: "\"") else {
      let value = quoted(&rest)
      rest = rest.drop { $0 != UInt8(ascii: ";") }
      return (name, value)
    }
    var value = rest.prefix { $0 != UInt8(ascii: ";") }
    rest = rest[value.endIndex...]
    while value.last.map(isWhitespace) == true { value.removeLast() }
    return value.isEmpty ? ([], []) : (name, Array(value))
  }

  /// The value of a quoted string, whose closing quotation mark may be missing.
  private static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
    rest.removeFirst()
    var value: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
    }
    return value
  }

  private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.map(\.lowercased), as: UTF8.self)
  }

  /// HTTP whitespace of the Fetch standard: tab, LF, CR, space.
  private static func isWhitespace(_ byte: UInt8) -> Bool { byte.isHTTPWhitespace || byte == 0x0A || byte == 0x0D }

  private static func isValueByte(_ byte: UInt8) -> Bool { byte == 0x09 || byte >= 0x20 && byte != 0x7F }
}
