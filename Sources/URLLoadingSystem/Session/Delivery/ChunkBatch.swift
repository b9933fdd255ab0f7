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
    var joined = state.withLock { state in
      state.isTaken = true
      defer { state.chunks.removeAll() }
      return state.chunks
    }
    let count = joined.byteCount
    guard let first = joined.popFirst() else { return Data() }
    if joined.isEmpty { return Data(sharing: first) }
    var data = Data(capacity: count)
    first.withUnsafeReadableBytes { data.append(contentsOf: $0) }
    while let chunk = joined.popFirst() { chunk.withUnsafeReadableBytes { data.append(contentsOf: $0) } }
    return data
  }
}
