import HTTPTransport
import NIOCore

/// Chunks of a body in order, small ones joined: each alone would keep a receive buffer many times its size.
struct JoinedChunks {
  /// Smaller chunks, in bytes, are joined to the one before.
  private static let smallChunk = 4096
  /// A joined chunk may grow to less than this and one small chunk, in bytes.
  private static let joinedChunk = 16_384

  private var chunks = ShortQueue<ByteBuffer>()
  private(set) var byteCount = 0

  var isEmpty: Bool { chunks.isEmpty }

  mutating func append(_ chunk: ByteBuffer) {
    byteCount += chunk.readableBytes
    // Asked before it is taken: a second reference would have it copied.
    let hasRoom = chunks.last.map { $0.readableBytes < Self.joinedChunk } ?? false
    if chunk.readableBytes < Self.smallChunk, hasRoom, var last = chunks.popLast() {
      last.writeImmutableBuffer(chunk)
      chunks.append(last)
    } else {
      chunks.append(chunk)
    }
  }

  mutating func popFirst() -> ByteBuffer? {
    guard let chunk = chunks.popFirst() else { return nil }
    byteCount -= chunk.readableBytes
    return chunk
  }

  mutating func removeAll() { self = JoinedChunks() }
}
