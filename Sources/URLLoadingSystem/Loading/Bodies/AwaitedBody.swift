import HTTPTransport
import NIOCore

/// A body whose next bytes must be awaited in a Swift task: a file that is read on another thread, the data connection
/// of FTP. Confined to the load's event loop.
final class AwaitedBody: BodySource, @unchecked Sendable {
  /// The reader that `AwaitedBody` pulls from. Confined to the load's event loop.
  protocol Reader: AnyObject {
    /// The next bytes; nil at the end.
    func next() async throws -> ByteBuffer?
    /// Makes a `next` that waits end soon.
    func abort(_ error: any Error)
    /// Gives up the rest.
    func close()
  }

  private let reader: any Reader
  private let executor: LoopExecutor
  private var arrived: Result<ByteBuffer?, any Error>?

  init(_ reader: any Reader, on executor: LoopExecutor) {
    self.reader = reader
    self.executor = executor
  }

  func take() throws -> BodyPart {
    executor.loop.assertInEventLoop()
    guard let result = arrived else { return .pending }
    arrived = nil
    return try result.get().map { .bytes($0) } ?? .end
  }

  func whenReadable(_ action: @escaping () -> Void) {
    executor.loop.assertInEventLoop()
    let ready = LoopAction(on: executor.loop, action)
    Task(executorPreference: executor) {
      do { self.arrived = .success(try await self.reader.next()) } catch { self.arrived = .failure(error) }
      ready.run()
    }
  }

  func discard() {
    executor.loop.assertInEventLoop()
    reader.close()
  }

  func abort(_ error: any Error) {
    executor.loop.assertInEventLoop()
    reader.abort(error)
  }
}
