import ArgumentParser

/// `Name: value`, as in a message.
struct HeaderArgument: ExpressibleByArgument, Sendable, Equatable {
  let name: String
  let value: String

  init?(argument: String) {
    guard let colon = argument.firstIndex(of: ":") else { return nil }
    let name = argument[..<colon]
    // RFC 9110 §5.6.2: a name is a token.
    guard !name.isEmpty, name.utf8.allSatisfy(HeaderArgument.isTokenByte) else { return nil }
    var value = argument[argument.index(after: colon)...]
    while let first = value.first, first == " " || first == "\t" { value.removeFirst() }
    while let last = value.last, last == " " || last == "\t" { value.removeLast() }
    // RFC 9110 §5.5: no control characters but the tab; above all no end of line.
    guard value.utf8.allSatisfy({ $0 == 9 || ($0 >= 32 && $0 != 127) }) else { return nil }
    self.name = String(name)
    self.value = String(value)
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
