import Foundation
import HTTPTransport
import NIOCore

/// A response body that is pulled, piece by piece. Not pulling stops the socket. Confined to the load's event loop.
///
/// A pull asks the last filter, which asks the one before it, down to the source: synchronous calls. Only when nothing
/// is here does the pull suspend. One that finds bytes again and again lets other loads of the loop have their turn
/// after a few milliseconds.
package final class LoadBody: @unchecked Sendable {
  private let source: any BodySource
  private let control: LoadControl
  private let executor: LoopExecutor
  private var filters: [any BodyFilter] = []
  private var isOver = false
  /// Bytes that were pulled and are to be pulled again.
  private var front: ByteBuffer?
  /// Pieces since the last look at the clock, and when that was.
  private var piecesOfTurn = 0
  private var turnStart = NIODeadline.distantPast

  private static let piecesBetweenLooks = 32
  private static let longestTurn = TimeAmount.milliseconds(5)

  package init(_ source: any BodySource, in context: LoadContext) {
    self.source = source
    control = context.control
    executor = context.executor
  }

  /// The next bytes, never none; nil at the end of the body.
  /// - Throws: What ends the load.
  package func next() async throws -> ByteBuffer? {
    while true {
      if control.isHeld { try await control.passGate() }
      switch try takePart() {
      case .bytes(let bytes):
        if isLongTurn { await takeTurn() }
        return bytes
      case .end: return nil
      case .busy: await takeTurn()
      case .pending: await wait()
      }
    }
  }

  /// The bytes that are here, through all filters. After the end it is the end again.
  func takePart() throws -> BodyPart {
    executor.loop.assertInEventLoop()
    if let bytes = front {
      front = nil
      return .bytes(bytes)
    }
    if isOver { return .end }
    do {
      try control.check()
      let part = try take(through: filters.count)
      if case .end = part { isOver = true }
      return part
    } catch {
      isOver = true
      source.discard()
      throw error
    }
  }

  private func take(through count: Int) throws -> BodyPart {
    guard count > 0 else { return try source.take() }
    return try filters[count - 1].take { try take(through: count - 1) }
  }

  /// Waits until something new is here.
  private func wait() async {
    await withUnsafeContinuation { continuation in whenMore { continuation.resume() } }
    piecesOfTurn = 0
    turnStart = .distantPast
  }

  /// Calls `action` once, when something new is here or the load was aborted: the wait of the load's main flow.
  func whenMore(_ action: @escaping () -> Void) {
    executor.loop.assertInEventLoop()
    control.wait = source
    source.whenReadable { [control] in
      control.wait = nil
      action()
    }
  }

  /// Whether pieces have been taken without a pause for so long that others must have their turn.
  private var isLongTurn: Bool {
    piecesOfTurn += 1
    guard piecesOfTurn >= LoadBody.piecesBetweenLooks else { return false }
    piecesOfTurn = 0
    let now = NIODeadline.now()
    if turnStart == .distantPast { turnStart = now }
    return now - turnStart >= LoadBody.longestTurn
  }

  private func takeTurn() async {
    await executor.turn()
    piecesOfTurn = 0
    turnStart = .now()
  }

  /// For a body that stands before this one: `action` is called once when more may be here.
  func whenReadable(_ action: @escaping () -> Void) {
    executor.loop.assertInEventLoop()
    source.whenReadable(action)
  }

  func abort(_ error: any Error) {
    executor.loop.assertInEventLoop()
    source.abort(error)
  }

  /// Each chunk that is pulled from now on passes `filter` behind those that are there.
  func add(_ filter: any BodyFilter) {
    executor.loop.assertInEventLoop()
    filters.append(filter)
  }

  /// Makes `bytes`, which were pulled, what is pulled next.
  func putBack(_ bytes: ByteBuffer) {
    executor.loop.assertInEventLoop()
    front = bytes
  }

  /// Gives up the rest. The connection is reused only when nothing was left to read.
  package func discard() {
    executor.loop.assertInEventLoop()
    front = nil
    guard !isOver else { return }
    isOver = true
    source.discard()
  }

  /// The connection itself in place of the body: after a 101, or where the body ends with the connection. Throws, and
  /// changes nothing, when the body is framed or made up.
  package func takeOver() async throws -> any DuplexStream {
    executor.loop.assertInEventLoop()
    guard !isOver else { throw TransportError.connectionLost(reason: "the response is over") }
    let stream = try await source.takeOver()
    isOver = true
    if let front { stream.unread(front) }
    front = nil
    return stream
  }
}
