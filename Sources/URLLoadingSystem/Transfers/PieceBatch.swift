import NIOCore

/// Bytes that wait to be written together. Holds at most about twice the memory that its bytes need: a piece keeps all of
/// the storage that it is a slice of alive, so a small piece of a large storage is copied, and small pieces that
/// follow one another are joined.
package struct PieceBatch: Sendable {
  package private(set) var pieces: [ByteBuffer] = []
  package private(set) var count = 0
  /// Whether the last piece is a copy of ours, which the next small piece may join.
  private var lastIsJoined = false

  /// A piece of fewer bytes costs more as a piece of its own than it costs to copy.
  private static let smallPiece = 4096
  private static let maximumJoinedPiece = 256 * 1024

  package init() {}

  package var isEmpty: Bool { count == 0 }

  /// Bytes of memory that the batch keeps alive.
  package var storageSize: Int { pieces.reduce(0) { $0 + $1.storageCapacity } }

  package mutating func append(_ piece: ByteBuffer) {
    let size = piece.readableBytes
    count += size
    guard size < PieceBatch.smallPiece || size * 2 < piece.storageCapacity else {
      pieces.append(piece)
      lastIsJoined = false
      return
    }
    if lastIsJoined, let last = pieces.indices.last, pieces[last].readableBytes + size <= PieceBatch.maximumJoinedPiece
    {
      pieces[last].writeImmutableBuffer(piece)
    } else {
      pieces.append(ByteBuffer(bytes: piece.readableBytesView))
      lastIsJoined = true
    }
  }

  /// Takes everything out.
  package mutating func take() -> [ByteBuffer] {
    defer { self = PieceBatch() }
    return pieces
  }
}
