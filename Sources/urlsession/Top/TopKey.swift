/// A key of the live view, as a terminal sends it.
enum TopKey: Sendable, Equatable {
  case up, down, pageUp, pageDown
  case character(Character)
  case enter, backspace
  /// The key itself, not a sequence that begins with it.
  case escape
  /// Control-C, or the end of the input.
  case interrupt

  /// The keys in a piece of input. Sequences that mean nothing here are passed over (ECMA-48 §5.4).
  static func keys(in bytes: some Sequence<UInt8>) -> [TopKey] {
    var keys: [TopKey] = []
    var rest = Array(bytes)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case 0x1B:
        // The sequence of a key comes in one piece.
        if rest.isEmpty { keys.append(.escape) }
        guard rest.first == UInt8(ascii: "[") || rest.first == UInt8(ascii: "O") else { continue }
        rest.removeFirst()
        let parameters = rest.prefix { !(0x40...0x7E).contains($0) }
        rest = rest.dropFirst(parameters.count)
        if let last = rest.popFirst(), let key = key(ending: last, parameters) { keys.append(key) }
      case 0x03, 0x04: keys.append(.interrupt)
      case 0x0A, 0x0D: keys.append(.enter)
      case 0x08, 0x7F: keys.append(.backspace)
      case 0x20..<0x7F: keys.append(.character(Character(UnicodeScalar(byte))))
      default: break
      }
    }
    return keys
  }

  private static func key(ending last: UInt8, _ parameters: ArraySlice<UInt8>) -> TopKey? {
    switch last {
    case UInt8(ascii: "A"): .up
    case UInt8(ascii: "B"): .down
    case UInt8(ascii: "~"):
      parameters.elementsEqual("5".utf8) ? .pageUp : parameters.elementsEqual("6".utf8) ? .pageDown : nil
    default: nil
    }
  }
}
