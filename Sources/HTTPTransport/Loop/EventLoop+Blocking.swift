import NIOCore
import NIOPosix

extension EventLoop {
  /// Runs `work`, which may block for a disk access, on a thread of a pool: the process-wide one unless another is given.
  /// The caller goes on where it is at home.
  package func blocking<Value: Sendable>(
    on pool: NIOThreadPool = .singleton, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await pool.runIfActive(eventLoop: self, work).get()
  }
}
