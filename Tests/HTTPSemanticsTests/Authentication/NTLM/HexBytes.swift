import HTTPSemantics

/// Bytes written as hexadecimal digits, as the specifications print them. Anything else is skipped.
enum HexBytes {
  static func read(_ text: String) -> [UInt8] {
    let digits = text.utf8.compactMap(\.hexValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
