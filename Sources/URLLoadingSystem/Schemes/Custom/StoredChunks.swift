import HTTPTransport
import NIOCore

/// The bytes of a `ChunkSpill` that come next in a body, as a load takes them. Confined to the load's event loop, except for
/// the reads themselves, which run on threads of a pool.
final class StoredChunks: @unchecked Sendable {
  private let spill: ChunkSpill
  private let executor: LoopExecutor
  private var count = 0
  private var piece: Result<ByteBuffer, any Error>?
  private var isReading = false

  private static let largestPiece = 256 * 1024

  init(of spill: ChunkSpill, on executor: LoopExecutor) {
    self.spill = spill
    self.executor = executor
  }

  /// The next `count` bytes of the body are in the file.
  func expect(_ count: Int) {
    executor.loop.assertInEventLoop()
    self.count = count
  }

  /// Whether the next bytes of the body are in the file.
  var areNext: Bool { count > 0 }

  /// Whether bytes have to be fetched before any can be taken.
  var mustBeFetched: Bool { count > 0 && piece == nil }

  /// The bytes that were fetched; nil when some have to be fetched first.
  func take() throws -> ByteBuffer? {
    executor.loop.assertInEventLoop()
    guard let piece else { return nil }
    self.piece = nil
    let bytes = try piece.get()
    count -= bytes.readableBytes
    return bytes
  }

  /// Fetches the next bytes, and calls `action` on the loop. Does nothing while it is about to.
  func fetch(_ action: @escaping () -> Void) {
    executor.loop.assertInEventLoop()
    guard !isReading else { return }
    isReading = true
    let wanted = min(count, StoredChunks.largestPiece)
    let fetched = LoopAction(on: executor.loop) {
      self.isReading = false
      action()
    }
    let (spill, loop) = (self.spill, executor.loop)
    Task(executorPreference: executor) {
      do { self.piece = .success(try await loop.blocking { try spill.read(wanted) }) } catch {
        self.piece = .failure(error)
      }
      fetched.run()
    }
  }
}
