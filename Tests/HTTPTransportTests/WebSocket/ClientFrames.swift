import NIOCore

/// A client's frames seen from the server, decoded without the code under test.
enum ClientFrames {
  struct Frame: Equatable {
    var first: UInt8
    var payload: [UInt8]
  }

  /// All frames in `bytes`, unmasked; stops at what is no whole, masked frame.
  static func parse(_ bytes: inout ByteBuffer) -> [Frame] {
    var frames: [Frame] = []
    while let frame = next(&bytes) { frames.append(frame) }
    return frames
  }

  /// The same bytes as a server would have sent them.
  static func unmasked(_ bytes: inout ByteBuffer) -> [UInt8] {
    parse(&bytes).flatMap { frame -> [UInt8] in
      let count = frame.payload.count
      if count < 126 { return [frame.first, UInt8(count)] + frame.payload }
      if count < 65_536 { return [frame.first, 126, UInt8(count >> 8), UInt8(count & 0xFF)] + frame.payload }
      let length = (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
      return [frame.first, 127] + length + frame.payload
    }
  }

  private static func next(_ bytes: inout ByteBuffer) -> Frame? {
    guard let first = bytes.readInteger(as: UInt8.self), let second = bytes.readInteger(as: UInt8.self),
      second & 0x80 != 0
    else { return nil }
    var count = Int(second & 0x7F)
    switch count {
    case 126: count = bytes.readInteger(as: UInt16.self).map { Int($0) } ?? 0
    case 127: count = bytes.readInteger(as: UInt64.self).flatMap { Int(exactly: $0) } ?? 0
    default: break
    }
    guard let key = bytes.readBytes(length: 4), let masked = bytes.readBytes(length: count) else { return nil }
    return Frame(first: first, payload: masked.enumerated().map { $1 ^ key[$0 % 4] })
  }
}
