/// The checksum of BinHex and MacBinary: the polynomial x¹⁶ + x¹² + x⁵ + 1, from 0.
struct CRC16: Equatable {
  private(set) var value: UInt16 = 0

  mutating func add(_ byte: UInt8) {
    value ^= UInt16(byte) << 8
    for _ in 0..<8 { value = value & 0x8000 == 0 ? value << 1 : value << 1 ^ 0x1021 }
  }
}
