import Foundation
import HTTPTransport
import Synchronization

/// The app's stream of a request body, read by one thread at a time. Closed once, on a dispatch queue: when it is released,
/// or earlier by `interrupt()`.
final class BodyStream: Sendable {
  private struct State {
    /// No further read begins.
    var isAbandoned = false
    var isReading = false
    var isClosed = false
  }

  private let stream: SendableInputStream
  private let state = Mutex(State())

  init(_ stream: SendableInputStream) { self.stream = stream }

  deinit {
    // Often on the load's event loop, and a `close` of the app's may block.
    guard !state.withLock({ $0.isClosed }) else { return }
    DispatchQueue.global().async { [stream] in BodyStream.close(stream) }
  }

  /// Runs `body`, which may block, unless the stream is abandoned: then the result is nil.
  func read<Value>(_ body: (InputStream) throws -> Value?) rethrows -> Value? {
    let begins = state.withLock { state in
      state.isReading = !state.isAbandoned
      return state.isReading
    }
    guard begins else { return nil }
    defer { state.withLock { $0.isReading = false } }
    return try body(stream.stream)
  }

  /// Lets no further read begin. Returns true when one is under way and this is the first call.
  func abandon() -> Bool {
    state.withLock { state in
      defer { state.isAbandoned = true }
      return state.isReading && !state.isAbandoned
    }
  }

  /// Makes a read that is still under way return, by closing the stream.
  ///
  /// That is done only with subclasses of `InputStream`: those of a captured stream task, and those of the app. A subclass
  /// whose `read` waits for another thread has a `close` that ends the wait, or waits for ever. Foundation's own
  /// streams read memory or a file, which does not block for long. One over a named pipe or a device does, and closing it
  /// would neither end the read nor be safe: the number of its descriptor could become that of another file meanwhile.
  func interrupt() {
    guard type(of: stream.stream) != InputStream.self, state.withLock({ $0.isReading }) else { return }
    close()
  }

  private func close() {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    if isFirst { BodyStream.close(stream) }
  }

  private static func close(_ stream: SendableInputStream) {
    BlockingWork.assertMayBlock()
    stream.stream.close()
  }
}
