import Foundation
import NIOCore
import Synchronization

/// Body bytes on their way to one `didReceive data` call. Chunks that arrive before the call runs join it while they
/// are small; large ones go alone, because they can be handed over without a copy.
final class ChunkBatch: Sendable {
  private struct State {
    var chunks: [ByteBuffer] = []
    var byteCount = 0
    var isTaken = false
  }

  /// Above this, in bytes, a chunk is not worth joining.
  private static let joinLimit = 64 * 1024

  private let state = Mutex(State())

  /// Returns false when the batch is full or already delivered, so that a new one is needed.
  func join(_ chunk: ByteBuffer) -> Bool {
    state.withLock { state in
      guard !state.isTaken else { return false }
      guard state.chunks.isEmpty || state.byteCount + chunk.readableBytes <= Self.joinLimit else { return false }
      if chunk.readableBytes < 4096, let last = state.chunks.indices.last, state.chunks[last].readableBytes < 16_384 {
        // Each small chunk would keep a receive buffer many times its size.
        state.chunks[last].writeImmutableBuffer(chunk)
      } else {
        state.chunks.append(chunk)
      }
      state.byteCount += chunk.readableBytes
      return true
    }
  }

  func take() -> Data {
    let (chunks, byteCount) = state.withLock { state in
      state.isTaken = true
      defer { state.chunks = [] }
      return (state.chunks, state.byteCount)
    }
    if chunks.count == 1 { return Data(sharing: chunks[0]) }
    var data = Data(capacity: byteCount)
    for chunk in chunks { chunk.withUnsafeReadableBytes { data.append(contentsOf: $0) } }
    return data
  }
}

extension Data {
  /// The readable bytes of `buffer`: shared when that saves a large copy and does not keep alive much more memory
  /// than it shows, else copied.
  init(sharing buffer: ByteBuffer) {
    let count = buffer.readableBytes
    guard count > 16 * 1024, count * 2 >= buffer.storageCapacity else {
      self = buffer.withUnsafeReadableBytes { Data($0) }
      return
    }
    self = buffer.withUnsafeReadableBytesWithStorageManagement { bytes, storage in
      guard let start = bytes.baseAddress else { return Data() }
      _ = storage.retain()
      return Data(
        bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: count,
        deallocator: .custom { _, _ in storage.release() })
    }
  }
}
