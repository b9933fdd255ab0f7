/// Takes the data fork out of a BinHex 4.0 file (RFC 1741, appendix A): text of 64 characters between two colons, which
/// stands for bytes in which repetitions are shortened, which are a header and two forks, each with a checksum.
package struct BinHexDecoder: FileDecoder {
  private var text = BinHexText()
  private var runs = BinHexRuns()
  private var file = BinHexFile()

  package init() {}

  package var isComplete: Bool { file.isComplete && !runs.isRepeating }

  package mutating func decode(
    _ input: inout ArraySlice<UInt8>, into output: inout [UInt8], upTo limit: Int
  ) throws(FileDecodingFailure) {
    while output.count < limit {
      if file.isComplete {
        runs = BinHexRuns()
        input = []
        return
      }
      if let byte = runs.next() {
        try file.take(byte, into: &output)
      } else if let byte = input.popFirst() {
        if let decoded = try text.take(byte) { runs.take(decoded) }
      } else {
        return
      }
    }
  }
}

/// The characters between the colons: six bits each.
private struct BinHexText {
  private static let alphabet = "!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr"
  /// The value of each character; 0xff for one that has none.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 0xff, count: 256)
    for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()
  private static let announcement = Array("(This file must be converted with BinHex".utf8)
  private static let colon = UInt8(ascii: ":")
  /// Bytes of text before the file; more are no BinHex file.
  private static let mostText = 1024 * 1024

  private enum Stage {
    /// How many characters of the announcement have come in a row.
    case before(Int)
    case announced
    case between
    case after
  }

  private var stage = Stage.before(0)
  private var skipped = 0
  private var bits: UInt16 = 0
  private var bitCount = 0

  /// The byte that `character` completes; nil for none.
  mutating func take(_ character: UInt8) throws(FileDecodingFailure) -> UInt8? {
    switch stage {
    case .before(let count):
      try skip()
      let announcement = BinHexText.announcement
      let matched = character == announcement[count] ? count + 1 : character == announcement[0] ? 1 : 0
      stage = matched == announcement.count ? .announced : .before(matched)
      return nil
    case .announced:
      try skip()
      if character == BinHexText.colon { stage = .between }
      return nil
    case .between:
      switch character {
      case 0x09, 0x0a, 0x0d, 0x20: return nil
      case BinHexText.colon:
        stage = .after
        return nil
      default: return try add(character)
      }
    case .after: throw .truncated
    }
  }

  private mutating func skip() throws(FileDecodingFailure) {
    skipped += 1
    guard skipped <= BinHexText.mostText else { throw FileDecodingFailure("The file is no BinHex file.") }
  }

  private mutating func add(_ character: UInt8) throws(FileDecodingFailure) -> UInt8? {
    let value = BinHexText.values[Int(character)]
    guard value != 0xff else { throw FileDecodingFailure("The BinHex file has a character that BinHex has not.") }
    bits = bits << 6 | UInt16(value)
    bitCount += 6
    guard bitCount >= 8 else { return nil }
    bitCount -= 8
    return UInt8(truncatingIfNeeded: bits >> UInt16(bitCount))
  }
}

/// Repetitions: 0x90 and a number repeat the byte before; 0x90 and 0 stand for 0x90 itself.
private struct BinHexRuns {
  private static let marker: UInt8 = 0x90

  private var last: UInt8 = 0
  private var isMarked = false
  private var count = 0

  var isRepeating: Bool { count > 0 }

  mutating func take(_ byte: UInt8) {
    if isMarked {
      isMarked = false
      if byte == 0 {
        (last, count) = (BinHexRuns.marker, 1)
      } else {
        // The byte itself has come out already.
        count = Int(byte) - 1
      }
    } else if byte == BinHexRuns.marker {
      isMarked = true
    } else {
      (last, count) = (byte, 1)
    }
  }

  mutating func next() -> UInt8? {
    guard count > 0 else { return nil }
    count -= 1
    return last
  }
}

/// The header and the data fork.
private struct BinHexFile {
  private enum Stage { case nameLength, header, headerChecksum, data, dataChecksum, complete }

  /// Behind the name: version, type, creator, flags and the lengths of both forks.
  private static let fixedHeader = 1 + 4 + 4 + 2 + 4 + 4

  private var stage = Stage.nameLength
  private var remaining = 1
  private var header: [UInt8] = []
  private var checksum = CRC16()
  private var announced: UInt16 = 0

  var isComplete: Bool { stage == .complete }

  mutating func take(_ byte: UInt8, into output: inout [UInt8]) throws(FileDecodingFailure) {
    switch stage {
    case .nameLength, .header: header.append(byte)
    case .data: output.append(byte)
    case .headerChecksum, .dataChecksum: announced = announced << 8 | UInt16(byte)
    case .complete: return
    }
    if stage != .headerChecksum, stage != .dataChecksum { checksum.add(byte) }
    remaining -= 1
    while remaining == 0, stage != .complete { try advance() }
  }

  private mutating func advance() throws(FileDecodingFailure) {
    switch stage {
    case .nameLength:
      guard let length = header.first, (1...63).contains(length) else {
        throw FileDecodingFailure("The header of the BinHex file has no name of a file.")
      }
      (stage, remaining) = (.header, Int(length) + BinHexFile.fixedHeader)
    case .header: (stage, remaining) = (.headerChecksum, 2)
    case .headerChecksum:
      try compare("header")
      let length = header.suffix(8).prefix(4).reduce(0) { $0 << 8 | Int($1) }
      (stage, remaining) = (.data, length)
    case .data: (stage, remaining) = (.dataChecksum, 2)
    case .dataChecksum:
      try compare("data")
      stage = .complete
    case .complete: break
    }
  }

  private mutating func compare(_ part: String) throws(FileDecodingFailure) {
    guard announced == checksum.value else {
      throw FileDecodingFailure("The checksum of the BinHex file's \(part) is wrong.")
    }
    checksum = CRC16()
    announced = 0
  }
}
