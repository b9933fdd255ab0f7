import Foundation
import HTTPTransport
import Synchronization

/// A TCP connection, plain or TLS, whose bytes the app reads and writes itself; through a proxy where the session has one.
///
/// Reads are done in the order in which they are asked for, and so are writes; the two do not wait for each other.
/// Connecting begins with `resume()`, and the session's timeouts apply to it alone. The task ends without an error when
/// both sides are closed, and with a `URLError` when the connection is lost or the task cancelled; whatever is
/// outstanding then fails. Handlers run on the session's delegate queue.
open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {
  // Sendable by hand: constants of Sendable types; what changes is behind the lock of `StreamOperations`.

  /// The origin of a stream's connection.
  enum Source: Sendable {
    case host(String, port: Int)
    /// A data task became this one.
    case response
  }

  let source: Source
  let operations = StreamOperations()

  init(session: URLSession, identifier: Int, source: Source, request: URLRequest? = nil) {
    self.source = source
    super.init(session: session, identifier: identifier, request: request, body: .none, recipient: .delegates)
    operations.use(session.laneForTask())
  }

  /// A task of no session, which never does anything.
  @available(*, deprecated, message: "Use a factory of URLSession")
  public override init() {
    source = .response
    super.init()
  }

  /// As `init()`.
  @available(*, deprecated, message: "Use a factory of URLSession")
  open override class func new() -> URLSessionStreamTask { URLSessionStreamTask() }

  /// Reads bytes.
  /// - Parameters:
  ///   - minBytes: Wait for so many, or for the end; at least 1 is waited for.
  ///   - maxBytes: Take no more than so many, however many have come.
  ///   - timeout: In seconds; 0 for none. A read that takes longer fails with `URLError.timedOut`.
  ///   - completionHandler: Called on the delegate queue with the bytes, which are nil at the end, and whether the server
  ///     has closed its side and nothing is left to read. After a read has failed, the next ones fail at once, with
  ///     the same error; on a side that is closed, with `ENOTCONN` (`POSIXError`).
  @preconcurrency
  open func readData(
    ofMinLength minBytes: Int, maxLength maxBytes: Int, timeout: TimeInterval,
    completionHandler: @escaping @Sendable (Data?, Bool, (any Error)?) -> Void
  ) {
    let waiter = TaskWaiter<(Data?, Bool)>.handler { result in
      switch result {
      case .success(let (data, atEnd)): completionHandler(data, atEnd, nil)
      case .failure(let error): completionHandler(nil, false, error)
      }
    }
    operations.add(.read(min: minBytes, max: maxBytes, timeout: timeout, waiter))
  }

  /// The `async` form of `readData(ofMinLength:maxLength:timeout:completionHandler:)`.
  open func readData(
    ofMinLength minBytes: Int, maxLength maxBytes: Int, timeout: TimeInterval
  ) async throws -> (Data?, Bool) {
    try await withUnsafeThrowingContinuation {
      operations.add(.read(min: minBytes, max: maxBytes, timeout: timeout, .call($0)))
    }
  }

  /// Writes all of `data`.
  /// - Parameters:
  ///   - data: The bytes.
  ///   - timeout: In seconds; 0 for none. A write that takes longer fails with `URLError.timedOut`; a part of it may
  ///     have been sent.
  ///   - completionHandler: Called on the delegate queue when the kernel has taken all bytes, which is not to say that the
  ///     server has, or with the error. After a write has failed, the next ones fail at once; on a side that is closed,
  ///     with `EPIPE` (`POSIXError`).
  @preconcurrency
  open func write(
    _ data: Data, timeout: TimeInterval, completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) {
    let waiter = TaskWaiter<Void>.handler { result in
      if case .failure(let error) = result { completionHandler(error) } else { completionHandler(nil) }
    }
    operations.add(.write(data, timeout: timeout, waiter))
  }

  /// The `async` form of `write(_:timeout:completionHandler:)`.
  open func write(_ data: Data, timeout: TimeInterval) async throws {
    try await withUnsafeThrowingContinuation { operations.add(.write(data, timeout: timeout, .call($0))) }
  }

  /// Hands the connection over, once everything asked for before is done, as two unopened streams: the delegate gets them
  /// with `urlSession(_:streamTask:didBecome:outputStream:)`. The task is then over and says nothing more.
  open func captureStreams() { operations.add(.captureStreams) }

  /// Closes the writing side, behind all writes asked for before: the server sees the end. Reading goes on.
  open func closeWrite() { operations.add(.closeWrite) }

  /// Closes the reading side, behind all reads asked for before. What the server still sends is not read. Writing goes on.
  open func closeRead() { operations.add(.closeRead) }

  /// Makes the connection a TLS connection, once everything asked for before is done; what is asked for later waits for
  /// the handshake. Challenges go to the task's delegate. The task fails when the handshake does, and also when the
  /// server has sent bytes that were not read: they would pass for protected ones.
  open func startSecureConnection() { operations.add(.startSecureConnection) }

  /// Has no effect: a TLS connection can't safely go on without TLS.
  @available(*, deprecated, message: "TLS cannot be disabled once it is enabled")
  open func stopSecureConnection() {}

  override func willEnd(with error: URLError?) { operations.end(error ?? POSIXError(.ENOTCONN)) }
}
