/// Checks a text that arrives in pieces for being UTF-8, as early as possible: a piece may end inside a character
/// (RFC 3629 §4: no overlong forms, no surrogates, nothing beyond U+10FFFF).
package struct UTF8Validation: Sendable {
  /// Continuation bytes that the current character still needs.
  private var missing = 0
  /// The range in which the next continuation byte must lie.
  private var range: ClosedRange<UInt8> = 0x80...0xBF

  package init() {}

  /// Whether no character is left unfinished.
  package var isComplete: Bool { missing == 0 }

  /// False as soon as the text can't be UTF-8 any more; then it is of no further use.
  package mutating func take(_ bytes: some Sequence<UInt8>) -> Bool {
    let answer = bytes.withContiguousStorageIfAvailable { take(UnsafeRawBufferPointer($0)) }
    if let answer { return answer }
    for byte in bytes where !take(byte) { return false }
    return true
  }

  package mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
      if missing == 0 {
        // Most text is ASCII: eight bytes at a time.
        while index &+ 8 <= bytes.count {
          let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
          guard word & 0x8080_8080_8080_8080 == 0 else { break }
          index &+= 8
        }
        guard index < bytes.count else { break }
      }
      guard take(bytes[index]) else { return false }
      index &+= 1
    }
    return true
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    if missing > 0 {
      guard range.contains(byte) else { return false }
      missing -= 1
      range = 0x80...0xBF
      return true
    }
    switch byte {
    case 0x00...0x7F: return true
    case 0xC2...0xDF: missing = 1
    case 0xE0: (missing, range) = (2, 0xA0...0xBF)
    case 0xE1...0xEC, 0xEE, 0xEF: missing = 2
    case 0xED: (missing, range) = (2, 0x80...0x9F)
    case 0xF0: (missing, range) = (3, 0x90...0xBF)
    case 0xF1...0xF3: missing = 3
    case 0xF4: (missing, range) = (3, 0x80...0x8F)
    default: return false
    }
    return true
  }
}
