/// The header of a zstd frame (RFC 8878 §3.1), while its bytes come in.
///
/// The library looks at a header again and again until it is complete, and in what it is given last, which may begin
/// anywhere in the header, for the formats of its own past. So it is given complete and checked headers only.
struct ZstdFrameHeader {
  enum State: Equatable {
    case incomplete
    case complete
    case wrong(String)
  }

  private(set) var bytes: [UInt8] = []
  private(set) var state = State.incomplete
  /// The length that the frame announces; nil when it announces none, and for skippable frames.
  private(set) var contentLength: UInt64?

  /// RFC 9659 §3: a decoder for the Web takes windows of up to 8 MiB, and no encoder may use a larger one.
  static let largestWindowLog = 23

  /// The bytes that frames begin with; the first byte of skippable frames has any lower half.
  private static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
  private static let skippableMagic: [UInt8] = [0x50, 0x2A, 0x4D, 0x18]

  static func canBegin(with byte: UInt8) -> Bool { byte == magic[0] || byte & 0xF0 == skippableMagic[0] }

  /// Not to be called when the header is complete or wrong.
  mutating func append(_ byte: UInt8) {
    bytes.append(byte)
    state = check()
  }

  private var isSkippable: Bool { bytes.first.map { $0 & 0xF0 == ZstdFrameHeader.skippableMagic[0] } ?? false }

  private mutating func check() -> State {
    let magic = isSkippable ? ZstdFrameHeader.skippableMagic.dropFirst() : ZstdFrameHeader.magic.dropFirst()
    guard let first = bytes.first, ZstdFrameHeader.canBegin(with: first), zip(bytes.dropFirst(), magic).allSatisfy(==)
    else { return .wrong("no frame begins so") }
    if isSkippable { return bytes.count == 8 ? .complete : .incomplete }
    guard bytes.count > 4 else { return .incomplete }
    // §3.1.1.1.1: the descriptor tells which fields follow.
    let descriptor = bytes[4]
    guard descriptor & 0x08 == 0 else { return .wrong("a reserved bit is set") }
    let isSingleSegment = descriptor & 0x20 != 0
    let windowLength = isSingleSegment ? 0 : 1
    let identifierLength = [0, 1, 2, 4][Int(descriptor & 3)]
    let lengthLength = [isSingleSegment ? 1 : 0, 2, 4, 8][Int(descriptor >> 6)]
    guard bytes.count == 5 + windowLength + identifierLength + lengthLength else { return .incomplete }
    // Five bits of exponent above 10, three of mantissa.
    guard isSingleSegment || bytes[5] <= UInt8(ZstdFrameHeader.largestWindowLog - 10) << 3 else {
      return .wrong("its window is too large")
    }
    if lengthLength > 0 {
      let length = bytes.suffix(lengthLength).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      contentLength = length + (lengthLength == 2 ? 256 : 0)
    }
    return .complete
  }
}
