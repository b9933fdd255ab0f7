import Foundation
import HTTPTransport
import NIOCore

/// Writes a request's body while the response is being read: the second flow of a load. Confined to the load's loop.
///
/// It ends in one of three ways: everything is sent; the source fails, which aborts the exchange; or the server has
/// answered without wanting the rest, and `stop` leaves the connection to be closed when the exchange ends.
final class HTTPUpload: @unchecked Sendable {
  private let body: RequestBodySource
  private let exchange: any HTTPExchange
  private let record: TransactionRecord?
  private let context: LoadContext
  private var isStopped = false
  private var isDone = false
  private var sent: Int64 = 0
  /// Bytes of the body that were read and are to be sent later.
  private var rest = ByteBuffer()
  private var bytesOfTurn = 0
  private var continueGate: CheckedContinuation<Void, Never>?
  private var whenDone: (() -> Void)?
  /// The error that ended the upload early, when it was not the connection.
  private(set) var failure: (any Error)?

  /// After so many bytes the loop looks whether something has come, though the connection would take more.
  private static let bytesPerTurn = 1024 * 1024
  /// RFC 9110 §10.1.1: a client need not wait for 100 for ever, since older servers never send it.
  private static let continuePatience = TimeAmount.seconds(1)

  init(body: RequestBodySource, exchange: any HTTPExchange, record: TransactionRecord?, context: LoadContext) {
    self.body = body
    self.exchange = exchange
    self.record = record
    self.context = context
  }

  func start(waitingForContinue: Bool) {
    context.loop.assertInEventLoop()
    Task(executorPreference: context.executor) {
      if waitingForContinue { await self.waitForContinue() }
      await self.run()
    }
  }

  private func waitForContinue() async {
    guard !isStopped else { return }
    let patience = startPatience()
    await withCheckedContinuation { continueGate = $0 }
    patience.cancel()
  }

  private func startPatience() -> Scheduled<Void> {
    context.loop.assumeIsolated().scheduleTask(in: HTTPUpload.continuePatience) { self.proceed() }
  }

  /// The server sent 100, or waiting for it makes no more sense.
  func proceed() {
    context.loop.assertInEventLoop()
    let gate = continueGate
    continueGate = nil
    gate?.resume()
  }

  private func run() async {
    defer { done() }
    while !isStopped {
      let bytes: ByteBuffer?
      do {
        if let pacing = context.bodyPacing { try await wait(for: pacing) }
        try await context.control.passGate()
        guard !isStopped else { return }
        bytes = try await nextPiece()
      } catch {
        guard !isStopped else { return }
        failure = error
        return exchange.abort(error)
      }
      guard !isStopped else { return }
      // A connection that takes no more bytes may still hold the server's answer: the reader finds out.
      guard let bytes else {
        do { try await exchange.finish(trailers: nil) } catch { shortBody(error) }
        return
      }
      do { try await exchange.write(bytes) } catch { return shortBody(error) }
      sent += Int64(bytes.readableBytes)
      context.bodyPacing?.sent(bytes.readableBytes)
      if body.length == nil { record?.requestBodyBytesBeforeEncoding = sent }
      context.control.touch()
      context.client.load(
        context, didSendBodyBytes: Int64(bytes.readableBytes), total: sent, expected: body.length ?? -1)
      if let length = body.length, sent == length {
        // All that was announced is sent: a stream that does not end by itself is not waited for.
        do { try await exchange.finish(trailers: nil) } catch { shortBody(error) }
        return
      }
      bytesOfTurn += bytes.readableBytes
      if bytesOfTurn >= HTTPUpload.bytesPerTurn {
        bytesOfTurn = 0
        await context.executor.turn()
      }
    }
  }

  /// Time that the pace takes is no idle time of the network.
  private func wait(for pacing: any BodyPacing) async throws {
    guard pacing.delay > 0 else { return }
    defer { pacing.waitEnded() }
    try await context.control.whileClientHoldsLoad {
      while !isStopped, case let seconds = pacing.delay, seconds > 0 { try await context.control.sleep(seconds) }
    }
  }

  private func nextPiece() async throws -> ByteBuffer? {
    if rest.readableBytes == 0 {
      guard let bytes = try await body.next() else { return nil }
      guard context.bodyPacing != nil else { return bytes }
      rest = bytes
    }
    if let most = context.bodyPacing?.largestPiece, let piece = rest.readSlice(length: max(most, 1)) { return piece }
    defer { rest = ByteBuffer() }
    return rest
  }

  /// A body that is not as long as announced is the app's fault and ends the load.
  private func shortBody(_ error: any Error) {
    guard case TransportError.invalidRequest(let reason) = error else { return }
    let cause = ErrorMapping.make(.requestBodyStreamExhausted, because: "The upload failed: \(reason).")
    failure = cause
    exchange.abort(cause)
  }

  private func done() {
    isDone = true
    body.close()
    settled()
  }

  private func settled() {
    let action = whenDone
    whenDone = nil
    action?()
  }

  /// A final response that is no success ends the upload: the server does not want the rest (RFC 9112 §9.5).
  func finalResponseArrived(status: Int) {
    context.loop.assertInEventLoop()
    if status >= 300 { stop() } else { proceed() }
  }

  /// Whether the response may end: the upload is over, or has more to send, which then stops. False while the last step
  /// of one that has sent everything is under way.
  var isSettled: Bool {
    context.loop.assertInEventLoop()
    guard !isDone else { return true }
    if let length = body.length, sent >= length, !isStopped {
      isAwaited = true
      return false
    }
    stop()
    return true
  }

  /// Whether `isSettled` was false.
  private(set) var isAwaited = false

  /// Calls `action` when the last step is done, or the upload is stopped.
  func whenSettled(_ action: @escaping () -> Void) {
    context.loop.assertInEventLoop()
    guard !isDone, !isStopped else { return action() }
    whenDone = action
  }

  func stop() {
    context.loop.assertInEventLoop()
    isStopped = true
    // The flow may be waiting for the body at this moment.
    body.close()
    proceed()
    settled()
  }
}
