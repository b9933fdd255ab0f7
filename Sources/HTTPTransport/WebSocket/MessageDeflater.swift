import CZlib
import HTTPSemantics
import NIOCore

/// Compresses the messages of one connection (RFC 7692 §7.2.1). Used by the connection's writer alone.
final class MessageDeflater {
  private let stream: UnsafeMutablePointer<z_stream>
  private let forgets: Bool

  /// nil when zlib can't keep to the terms: it has no raw window of 256 bytes.
  init?(_ terms: MessageCompression) {
    guard terms.clientWindowBits > 8 else { return nil }
    forgets = terms.clientForgets
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let status = deflateInit2_(
      stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -Int32(terms.clientWindowBits), 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else {
      stream.deinitialize(count: 1)
      stream.deallocate()
      return nil
    }
  }

  deinit {
    deflateEnd(stream)
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  /// One whole message, compressed. nil when zlib fails, which it does only out of memory.
  func deflate(_ message: ByteBufferView) -> ByteBuffer? {
    var output = ByteBuffer()
    var isComplete = false
    message.withUnsafeBytes { source in
      // zlib does not write to its input, but its declaration says it might.
      let bytes = UnsafeMutableRawBufferPointer(mutating: source).bindMemory(to: UInt8.self)
      stream.pointee.next_in = bytes.baseAddress
      var left = bytes.count
      repeat {
        stream.pointee.avail_in = UInt32(clamping: left)
        let offered = Int(stream.pointee.avail_in)
        let flush = offered == left ? Z_SYNC_FLUSH : Z_NO_FLUSH
        let space = max(1024, min(left, 256 * 1024))
        var status = Z_OK
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: space) { target in
          stream.pointee.next_out = target.bindMemory(to: UInt8.self).baseAddress
          stream.pointee.avail_out = UInt32(clamping: space)
          status = CZlib.deflate(stream, flush)
          return space - Int(stream.pointee.avail_out)
        }
        left -= offered - Int(stream.pointee.avail_in)
        guard status == Z_OK || status == Z_BUF_ERROR else { return }
        // Space left over means that everything was flushed.
        isComplete = left == 0 && stream.pointee.avail_out > 0
      } while !isComplete
    }
    guard isComplete, output.readableBytes >= 4 else { return nil }
    if forgets { deflateReset(stream) }
    // §7.2.1: the empty block that flushing leaves at the end is not sent.
    output.moveWriterIndex(to: output.writerIndex - 4)
    return output
  }
}
