import CZlib
import HTTPSemantics
import NIOCore

/// Decompresses the messages of one connection (RFC 7692 §7.2.2). Used by the connection's reader alone.
final class MessageInflater {
  private let stream: UnsafeMutablePointer<z_stream>
  /// Whether each message is compressed by itself.
  private let forgets: Bool
  /// Blocks of the message so far that said they were the last one.
  private var finalBlocks = 0

  /// A sender has no reason for more than one. They are the only blocks of which each takes a turn of its own here.
  private static let maximumFinalBlocks = 16

  init?(forgets: Bool) {
    self.forgets = forgets
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // The largest window understands every smaller one. Negative: no zlib header.
    guard inflateInit2_(stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      stream.deinitialize(count: 1)
      stream.deallocate()
      return nil
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  /// Decompresses a piece of a message behind what `output` holds of it already, at most `limit` bytes in all.
  func inflate(_ piece: ByteBuffer, into output: inout ByteBuffer, limit: Int) throws(WebSocketViolation) {
    var input = piece
    while true {
      // One byte more than allowed, to know a message that is too big from one that just fits.
      let room = limit - output.readableBytes
      guard room >= 0 else { throw .messageTooBig(limit: limit) }
      var space = min(max(4 * min(piece.readableBytes, 64 * 1024), 1024), 256 * 1024)
      if room < space { space = room + 1 }
      let (status, isFull) = step(&input, into: &output, space: space)
      switch status {
      case Z_OK, Z_BUF_ERROR: break
      case Z_STREAM_END: try goOnAfterFinalBlock()
      default: throw .invalidCompression
      }
      guard output.readableBytes <= limit else { throw .messageTooBig(limit: limit) }
      // Z_BUF_ERROR: no progress is possible without more input or more space.
      if input.readableBytes == 0, !isFull { return }
      if status == Z_BUF_ERROR, !isFull { return }
    }
  }

  /// §7.2.2: the four bytes that the sender cut off, and a fresh start where the terms ask for one.
  func finishMessage(into output: inout ByteBuffer, limit: Int) throws(WebSocketViolation) {
    try inflate(MessageInflater.tail, into: &output, limit: limit)
    finalBlocks = 0
    if forgets { inflateReset(stream) }
  }

  private static let tail = ByteBuffer(bytes: [0x00, 0x00, 0xFF, 0xFF])

  private func step(
    _ input: inout ByteBuffer, into output: inout ByteBuffer, space: Int
  ) -> (status: Int32, isFull: Bool) {
    var status = Z_OK
    var isFull = false
    input.readWithUnsafeMutableReadableBytes { source in
      let base = source.bindMemory(to: UInt8.self)
      stream.pointee.next_in = base.baseAddress
      stream.pointee.avail_in = UInt32(clamping: base.count)
      let offered = Int(stream.pointee.avail_in)
      output.writeWithUnsafeMutableBytes(minimumWritableBytes: space) { target in
        stream.pointee.next_out = target.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(clamping: space)
        status = CZlib.inflate(stream, Z_SYNC_FLUSH)
        isFull = stream.pointee.avail_out == 0
        return space - Int(stream.pointee.avail_out)
      }
      return offered - Int(stream.pointee.avail_in)
    }
    return (status, isFull)
  }

  /// §7.2.3.4: a block that says it is the last one ends the compressor's stream, not the message, and what follows
  /// may still refer to what came before: the window stays where it is, so that a block of two bytes costs no more than
  /// others.
  private func goOnAfterFinalBlock() throws(WebSocketViolation) {
    finalBlocks += 1
    guard finalBlocks <= MessageInflater.maximumFinalBlocks, inflateResetKeep(stream) == Z_OK else {
      throw .invalidCompression
    }
  }
}
