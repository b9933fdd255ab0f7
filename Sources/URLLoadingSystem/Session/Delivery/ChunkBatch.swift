import Foundation
import NIOCore
import Synchronization

/// Body bytes on their way to one `didReceive data` call. Chunks that arrive before the call runs join it while they
/// are small; large ones go alone, because they can be handed over without a copy.
final class ChunkBatch: Sendable {
  private struct State {
    var chunks = JoinedChunks()
    var isTaken = false
  }

  /// Above this, in bytes, a chunk is not worth joining.
  private static let joinLimit = 64 * 1024

  private let state = Mutex(State())

  /// Returns false when the batch is full or already delivered, so that a new one is needed.
  func join(_ chunk: ByteBuffer) -> Bool {
    state.withLock { state in
      guard !state.isTaken else { return false }
      guard state.chunks.isEmpty || state.chunks.byteCount + chunk.readableBytes <= Self.joinLimit else { return false }
      state.chunks.append(chunk)
      return true
    }
  }

  func take() -> Data {
    let joined = state.withLock { state in
      state.isTaken = true
      defer { state.chunks.removeAll() }
      return state.chunks
    }
    if joined.chunks.count == 1, let only = joined.chunks.first { return Data(sharing: only) }
    var data = Data(capacity: joined.byteCount)
    for chunk in joined.chunks { chunk.withUnsafeReadableBytes { data.append(contentsOf: $0) } }
    return data
  }
}
