import NIOCore

/// The nine bytes before every frame's payload (RFC 9113 §4.1).
package struct HTTP2FrameHeader: Equatable {
  package var length: Int
  package var type: UInt8
  package var flags: UInt8
  package var stream: HTTP2StreamNumber

  package static let size = 9

  package init(length: Int, type: UInt8, flags: UInt8 = 0, stream: HTTP2StreamNumber) {
    self.length = length
    self.type = type
    self.flags = flags
    self.stream = stream
  }

  /// The header at the front of `buffer`; nil while there are fewer than nine bytes. Nothing is consumed.
  package init?(peekingAt buffer: ByteBuffer) {
    let start = buffer.readerIndex
    guard let word = buffer.getInteger(at: start, as: UInt32.self),
      let flags = buffer.getInteger(at: start + 4, as: UInt8.self),
      let stream = buffer.getInteger(at: start + 5, as: UInt32.self)
    else { return nil }
    // The highest bit of the stream's number is reserved and ignored.
    self.init(length: Int(word >> 8), type: UInt8(word & 0xff), flags: flags, stream: stream & 0x7fff_ffff)
  }

  package func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

  package func write(into buffer: inout ByteBuffer) {
    buffer.writeInteger(UInt32(truncatingIfNeeded: length) << 8 | UInt32(type))
    buffer.writeInteger(flags)
    buffer.writeInteger(stream)
  }
}
