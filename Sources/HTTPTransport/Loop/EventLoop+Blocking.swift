import NIOCore
import NIOPosix

extension EventLoop {
  /// Runs `work`, which may block for a disk access, on a thread of the process-wide pool. The caller goes on where it is
  /// at home.
  package func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await NIOThreadPool.singleton.runIfActive(eventLoop: self, work).get()
  }
}
