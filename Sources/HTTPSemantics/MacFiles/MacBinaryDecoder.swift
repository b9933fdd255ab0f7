/// Takes the data fork out of a MacBinary file (I, II and III): a header of 128 bytes, which says how long each part is,
/// a second header that is skipped, the data fork, padding, and the resource fork.
package struct MacBinaryDecoder: FileDecoder {
  private enum Stage {
    case header
    case secondHeader
    case data
    case rest
  }

  private static let blockSize = 128

  private var stage = Stage.header
  private var header: [UInt8] = []
  /// Bytes of the present stage that are still to come.
  private var remaining = MacBinaryDecoder.blockSize

  package init() {}

  package var isComplete: Bool { stage == .rest }

  package mutating func decode(
    _ input: inout ArraySlice<UInt8>, into output: inout [UInt8], upTo limit: Int
  ) throws(FileDecodingFailure) {
    while true {
      if remaining == 0 { try advance() }
      guard stage != .rest else {
        input = []
        return
      }
      guard remaining > 0 else { continue }
      let room = stage == .data ? limit - output.count : remaining
      let count = min(remaining, input.count, room)
      guard count > 0 else { return }
      switch stage {
      case .header: header.append(contentsOf: input.prefix(count))
      case .data: output.append(contentsOf: input.prefix(count))
      case .secondHeader, .rest: break
      }
      input = input.dropFirst(count)
      remaining -= count
    }
  }

  /// The present stage is over.
  private mutating func advance() throws(FileDecodingFailure) {
    switch stage {
    case .header:
      try checkHeader()
      stage = .secondHeader
      let length = isVersionTwo ? number(at: 120, bytes: 2) : 0
      remaining = (length + Self.blockSize - 1) / Self.blockSize * Self.blockSize
    case .secondHeader:
      stage = .data
      remaining = number(at: 83, bytes: 4)
    case .data, .rest: stage = .rest
    }
  }

  private func number(at offset: Int, bytes: Int) -> Int {
    header[offset..<(offset + bytes)].reduce(0) { $0 << 8 | Int($1) }
  }

  /// Since version 2 the header has a checksum.
  private var isVersionTwo: Bool {
    var checksum = CRC16()
    for byte in header.prefix(124) { checksum.add(byte) }
    return checksum.value != 0 && number(at: 124, bytes: 2) == Int(checksum.value)
  }

  private func checkHeader() throws(FileDecodingFailure) {
    let isHeader =
      header[0] == 0 && header[74] == 0 && (1...63).contains(header[1]) && header[82] == 0
      && number(at: 83, bytes: 4) < 1 << 31 && number(at: 87, bytes: 4) < 1 << 31
    // Version 1 has zeros where later versions say more.
    guard isHeader, isVersionTwo || header[101..<126].allSatisfy({ $0 == 0 }) else {
      throw FileDecodingFailure("The file does not begin with a header of MacBinary.")
    }
  }
}
