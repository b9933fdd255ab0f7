import DequeModule
import NIOCore

/// Bytes that were read from a socket before their reader asked for them.
///
/// A piece keeps the whole buffer alive that it was read into. A peer that sends single bytes could so hold thousands of
/// times what it sends: pieces that use less than half of their buffer are joined, and the memory that is held is what
/// limits the reading ahead.
struct ReadAheadQueue {
  private var pieces = Deque<ByteBuffer>()
  /// Whether the last piece was made here, so that it can be written to.
  private var lastIsJoined = false
  /// The memory that the pieces hold.
  private(set) var heldBytes = 0

  /// Pieces are joined up to this size.
  private static let joinedSize = 64 * 1024
  /// A single piece in a buffer of this size or less is not worth copying.
  private static let smallBuffer = 32 * 1024

  init(_ first: ByteBuffer = ByteBuffer()) { if first.readableBytes > 0 { append(first) } }

  var isEmpty: Bool { pieces.isEmpty }

  mutating func append(_ piece: ByteBuffer) {
    guard let last = pieces.last, piece.isSparse || last.isSparse,
      last.readableBytes + piece.readableBytes <= ReadAheadQueue.joinedSize
    else {
      heldBytes += piece.storageCapacity
      lastIsJoined = false
      return pieces.append(piece)
    }
    join(piece)
  }

  private mutating func join(_ piece: ByteBuffer) {
    guard var last = pieces.popLast() else { return }
    heldBytes -= last.storageCapacity
    if lastIsJoined {
      last.writeImmutableBuffer(piece)
    } else {
      // Room for more of the kind.
      var joined = ByteBufferAllocator().buffer(capacity: 2 * (last.readableBytes + piece.readableBytes))
      joined.writeImmutableBuffer(last)
      joined.writeImmutableBuffer(piece)
      last = joined
      lastIsJoined = true
    }
    heldBytes += last.storageCapacity
    pieces.append(last)
  }

  /// Copies a last piece that uses little of a large buffer. Called when the reader has taken what it wants for now.
  mutating func compact() {
    guard let last = pieces.last, last.isSparse, last.storageCapacity > ReadAheadQueue.smallBuffer else { return }
    let compacted = last.compacted()
    heldBytes += compacted.storageCapacity - last.storageCapacity
    pieces[pieces.count - 1] = compacted
    lastIsJoined = true
  }

  mutating func popFirst() -> ByteBuffer? {
    guard let piece = pieces.popFirst() else { return nil }
    heldBytes -= piece.storageCapacity
    if pieces.isEmpty { lastIsJoined = false }
    return piece
  }

  mutating func prepend(_ piece: ByteBuffer) {
    heldBytes += piece.storageCapacity
    pieces.prepend(piece)
  }

  mutating func removeAll() { self = ReadAheadQueue() }
}
