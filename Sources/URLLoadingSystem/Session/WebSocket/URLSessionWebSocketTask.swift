import Foundation
import Synchronization

/// A WebSocket connection (RFC 6455): whole messages both ways.
///
/// The opening handshake is a load like any other: redirects are followed, cookies sent and stored, challenges
/// answered. Messages that are sent, and receives that are asked for, before it is done wait for it; both timeouts apply
/// to it, and none later. Messages are compressed where the server agrees (RFC 7692).
///
/// The task ends with the connection: without an error after a close frame from either side, else with a `URLError`.
/// Whatever is outstanding then fails. Messages that had arrived before can still be received after the end.
///
/// Completion handlers run on the session's delegate queue, in order. Bytes are read from the connection only while few
/// messages wait to be received, so an app that does not receive slows the server, and learns of a close frame late.
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {
  // Sendable by hand: what changes is behind the mailbox's lock or atomic.

  let mailbox = WebSocketMailbox()
  private let messageLimit = Atomic<Int>(1 << 20)
  /// Names offered in Sec-WebSocket-Protocol, best first.
  let offeredProtocols = Mutex<[String]>([])

  // MARK: Messages

  /// Sends a message. May be called at any time; messages are sent in the order of the calls.
  ///
  /// `completionHandler` is called on the delegate queue: with nil once the kernel has taken the message, which is not
  /// to say that the server has; with a `URLError` when the task fails first, or `ENOTCONN` (`POSIXError`) when the
  /// connection is closed.
  @preconcurrency
  open func send(_ message: Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    mailbox.send(message, .handler { completionHandler($0.failure) })
  }

  /// The `async` form of `send(_:completionHandler:)`. Cancelling the Swift task does not take the message back.
  open func send(_ message: Message) async throws {
    try await withUnsafeThrowingContinuation { mailbox.send(message, .call($0)) }
  }

  /// Asks for one message, put together from all its fragments. Several may be asked for; they are served in order.
  /// - Parameter completionHandler: Called on the delegate queue, with the errors of `send(_:completionHandler:)`.
  @preconcurrency
  open func receive(completionHandler: @escaping @Sendable (Result<Message, any Error>) -> Void) {
    mailbox.receive(mailbox.nextReceiverID(), .handler(completionHandler))
  }

  /// The `async` form of `receive(completionHandler:)`. Cancelling the Swift task ends the wait with
  /// `URLError.cancelled`; no message is lost by that, and the connection stays.
  open func receive() async throws -> Message {
    let id = mailbox.nextReceiverID()
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        mailbox.receive(id, .call(continuation))
        // Cancelled before there was anything to withdraw.
        if Task.isCancelled { mailbox.withdraw(id) }
      }
    } onCancel: {
      mailbox.withdraw(id)
    }
  }

  /// Sends a ping (RFC 6455 §5.5.2), behind the messages sent so far. Pings of the server are answered by themselves.
  /// - Parameter pongReceiveHandler: Called on the delegate queue, in the order of the pings: with nil when the pong has
  ///   come; with a `URLError` when the connection ends first or is closed: `networkConnectionLost` after a close frame.
  @preconcurrency
  open func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {
    mailbox.ping(.handler { pongReceiveHandler($0.failure) })
  }

  /// Sends a ping and waits for its pong. Throws when the connection ends first. See `sendPing(pongReceiveHandler:)`.
  open func sendPing() async throws {
    try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
      mailbox.ping(.handler { continuation.resume(with: $0) })
    }
  }

  // MARK: Closing

  /// Sends a close frame behind the messages sent so far, and waits a few seconds for the server's. The task then ends
  /// without an error. A task whose handshake is not done ends with `URLError.cancelled`, and so does one whose server
  /// takes none of the messages for a few seconds. `cancel()`, also after this, ends the task at once: it sends the close
  /// frame, without code and reason where none were asked for, and drops everything else.
  /// - Parameters:
  ///   - closeCode: A code that RFC 6455 §7.4 forbids to send makes the close frame empty.
  ///   - reason: Text in UTF-8; what is beyond 123 bytes is cut off.
  open func cancel(with closeCode: CloseCode, reason: Data?) {
    mailbox.requestClose(closeCode, reason: reason)
    perform(steer { $0.stop() })
  }

  /// Why the connection was closed: the code of the server's close frame, else the code that was sent, else
  /// `.abnormalClosure` when it was lost. `.noStatusReceived` stands for an empty frame. `.invalid` before.
  open var closeCode: CloseCode { mailbox.closing.code }

  /// The reason that came with `closeCode`; nil when there was none, and before.
  open var closeReason: Data? { mailbox.closing.reason }

  /// Most bytes of a message that is received, all fragments together and decompressed. A longer one ends the task with
  /// `URLError.dataLengthExceedsMaximum` and the connection with code 1009. Default 1 MiB; more than 1 GiB has the effect
  /// of 1 GiB, and a negative number that of 0.
  open var maximumMessageSize: Int {
    get { messageLimit.load(ordering: .relaxed) }
    set { messageLimit.store(max(0, newValue), ordering: .relaxed) }
  }

  override func willEnd(with error: URLError?) { mailbox.end(error ?? WebSocketMailbox.notConnected) }
}

extension Result where Success == Void, Failure == any Error {
  fileprivate var failure: (any Error)? { if case .failure(let error) = self { error } else { nil } }
}
