extension Sequence<UInt8> {
  /// Two hexadecimal digits a byte, letters in lower case.
  package var hexText: String {
    var text: [UInt8] = []
    text.reserveCapacity(underestimatedCount * 2)
    for byte in self {
      for digit in [byte >> 4, byte & 0x0F] { text.append(digit < 10 ? 0x30 + digit : 0x61 + digit - 10) }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
