/// Numbers in messages of NTLM, which have their low byte first (MS-NLMP §2.2).
extension [UInt8] {
  /// The two bytes at that offset; nil when they are not all there.
  func littleEndian16(at offset: Int) -> UInt16? {
    guard let bytes = bytes(at: offset, count: 2) else { return nil }
    return bytes.reversed().reduce(0) { $0 << 8 | UInt16($1) }
  }

  /// The four bytes at that offset; nil when they are not all there.
  func littleEndian32(at offset: Int) -> UInt32? {
    guard let bytes = bytes(at: offset, count: 4) else { return nil }
    return bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// nil when the bytes are not all there.
  func bytes(at offset: Int, count length: Int) -> ArraySlice<UInt8>? {
    guard offset >= 0, length >= 0, offset <= count, length <= count - offset else { return nil }
    return self[offset..<(offset + length)]
  }

  mutating func append(littleEndian number: some FixedWidthInteger & UnsignedInteger) {
    for shift in stride(from: 0, to: number.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  /// The text as UTF-16, the encoding of all names (MS-NLMP §2.2, NTLMSSP_NEGOTIATE_UNICODE).
  init(utf16LittleEndian text: String) {
    self = []
    reserveCapacity(text.utf16.count * 2)
    for unit in text.utf16 { append(littleEndian: unit) }
  }

  /// As above, without a copy of the text anywhere else.
  init(utf16LittleEndianOfUTF8 text: UnsafeRawBufferPointer) {
    var units: [UInt8] = []
    // A byte of UTF-8 becomes one unit at most, so the memory never moves.
    units.reserveCapacity(text.count * 2)
    _ = transcode(text.makeIterator(), from: UTF8.self, to: UTF16.self, stoppingOnError: false) {
      units.append(littleEndian: $0)
    }
    self = units
  }
}
