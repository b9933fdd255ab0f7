import DequeModule
import NIOCore

/// Chunks of a body in order, small ones joined: each alone would keep a receive buffer many times its size.
struct JoinedChunks {
  /// Smaller chunks, in bytes, are joined to the one before.
  private static let smallChunk = 4096
  /// A joined chunk may grow to less than this and one small chunk, in bytes.
  private static let joinedChunk = 16_384

  // Not a generic queue of another module: the compiler makes no special form of what is `package` there, also where it is
  // inlinable, and looks up the type at each call.
  /// Mostly the only one. Kept apart, so that one alone takes no further block of the heap.
  private var first: ByteBuffer?
  /// Empty where there is no first one.
  private var others = Deque<ByteBuffer>()
  private(set) var byteCount = 0

  var isEmpty: Bool { first == nil }

  mutating func append(_ chunk: ByteBuffer) {
    byteCount += chunk.readableBytes
    guard first != nil else { return first = chunk }
    // Asked before it is taken: a second reference would have it copied.
    let hasRoom = ((others.last ?? first)?.readableBytes ?? 0) < Self.joinedChunk
    if chunk.readableBytes < Self.smallChunk, hasRoom, var last = others.popLast() ?? first.take() {
      last.writeImmutableBuffer(chunk)
      if first == nil { first = last } else { others.append(last) }
    } else {
      others.append(chunk)
    }
  }

  mutating func popFirst() -> ByteBuffer? {
    guard let chunk = first.take() else { return nil }
    first = others.popFirst()
    byteCount -= chunk.readableBytes
    return chunk
  }

  mutating func removeAll() { self = JoinedChunks() }
}
