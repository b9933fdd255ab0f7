import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// An open WebSocket connection: carries messages between the connection and the task's mailbox, answers pings, and
/// closes (RFC 6455 §5.5, §7). Confined to the load's event loop.
///
/// Two flows: `run` reads, `write` writes. The reader ends the conversation, whatever the reason; the writer stops then.
final class WebSocketConversation: @unchecked Sendable {
  private let task: URLSessionWebSocketTask
  private let stream: any DuplexStream
  private let context: LoadContext
  /// Told of the server's close frame.
  private let onClose: (WebSocketMailbox.Closing) -> Void
  private var reader: WebSocketReader
  private let writer: WebSocketWriter
  private var mailbox: WebSocketMailbox { task.mailbox }

  private var isOver = false
  private var isWriting = false
  /// Only the last ping needs an answer (§5.5.3), so a flood of them takes no memory.
  private var pendingPong: ByteBuffer?
  private var lastPing: UInt64 = 0
  private var sentClose: WebSocketMailbox.Closing?
  private var room: UnsafeContinuation<Void, Never>?
  /// Runs from when the app has asked for the connection's end.
  private var closeTimer: Scheduled<Void>?
  /// Since when the writer has had the loop.
  private var lastTurn = NIODeadline.now()

  /// How long the server may take to read what is sent ahead of a close frame, to answer it, and to close the connection.
  private static let patience = TimeAmount.seconds(3)
  /// Frames that wait to be sent are joined up to this size, in bytes.
  private static let batchSize = 64 * 1024
  /// How long the writer keeps the loop while its socket takes everything at once.
  private static let turn = TimeAmount.milliseconds(2)

  init(
    task: URLSessionWebSocketTask, stream: any DuplexStream, compression: MessageCompression?, context: LoadContext,
    onClose: @escaping (WebSocketMailbox.Closing) -> Void
  ) throws {
    self.task = task
    self.stream = stream
    self.context = context
    self.onClose = onClose
    reader = try WebSocketReader(maximumMessageSize: task.maximumMessageSize, compression: compression)
    writer = WebSocketWriter(compression: compression)
  }

  /// Returns when the connection was closed in order; throws what else ended it.
  func run() async throws {
    let loop = context.loop
    loop.assertInEventLoop()
    mailbox.open { [weak self] in
      if loop.inEventLoop { self?.wake() } else { loop.execute { [weak self] in self?.wake() } }
    }
    defer { finish() }
    wake()
    do {
      // A cancelled task sends an empty close frame, or the one that was to come behind its messages.
      try await context.control.abortable(onAbort: { _ in
        self.close(
          self.mailbox.requestedClose.map { WebSocketConversation.status(of: $0) } ?? WebSocketCloseStatus.none)
      }) { try await read() }
    } catch let violation as WebSocketViolation {
      let status = WebSocketCloseStatus(code: violation.closeCode)
      if sentClose == nil { mailbox.closed(.init(status)) }
      close(status)
      throw violation
    } catch {
      // The close frame of a cancelled task is still on its way.
      if sentClose == nil { mailbox.closed(isOver ? .init(.none) : .init(code: .abnormalClosure)) }
      if !isOver { stream.close() }
      throw error
    }
  }

  private func finish() {
    context.loop.assertInEventLoop()
    isOver = true
    closeTimer?.cancel()
    let room = self.room
    self.room = nil
    room?.resume()
  }

  /// Something is new in the mailbox.
  private func wake() {
    context.loop.assertInEventLoop()
    if !mailbox.isFull {
      let room = self.room
      self.room = nil
      room?.resume()
    }
    if closeTimer == nil, mailbox.requestedClose != nil { startPatience() }
    startWriting()
  }

  // MARK: Reading

  private func read() async throws {
    while true {
      try await makeRoom()
      try context.control.check()
      reader.maximumMessageSize = task.maximumMessageSize
      if let event = try reader.next() {
        guard try handle(event) else { return }
        continue
      }
      try await context.control.passGate()
      guard let bytes = try await stream.read() else { return try inputEnded() }
      reader.append(bytes)
    }
  }

  private func makeRoom() async throws {
    while mailbox.isFull, !isOver {
      await withUnsafeContinuation { room = $0 }
    }
  }

  /// Returns whether the conversation goes on.
  private func handle(_ event: WebSocketReader.Event) throws -> Bool {
    switch event {
    case .message(let isText, let payload):
      task.bytesReceived.add(Int64(payload.readableBytes), ordering: .relaxed)
      task.countersChanged()
      mailbox.received(isText ? .string(String(buffer: payload)) : .data(payload.withUnsafeReadableBytes { Data($0) }))
      return true
    case .ping(let payload):
      pendingPong = payload
      startWriting()
      return true
    case .pong(let payload):
      if payload.readableBytes == 8, let number = payload.getInteger(at: payload.readerIndex, as: UInt64.self) {
        mailbox.pongReceived(number)
      }
      return true
    case .close(let status):
      let closing = WebSocketMailbox.Closing(status)
      mailbox.closed(closing)
      onClose(closing)
      // §5.5.1: answered with the same code, unless this is the answer.
      close(WebSocketCloseStatus(code: status.code))
      return false
    }
  }

  /// The server closed the connection without a close frame.
  private func inputEnded() throws {
    try context.control.check()
    guard let sentClose else {
      throw TransportError.connectionLost(reason: "the server ended it without a close frame")
    }
    mailbox.closed(sentClose)
  }

  // MARK: Writing

  private func startWriting() {
    guard !isWriting, !isOver, sentClose == nil else { return }
    isWriting = true
    Task(executorPreference: context.executor) {
      await self.write()
      self.isWriting = false
      // Messages that came while the last bytes were written.
      if self.hasSomethingToWrite { self.startWriting() }
    }
  }

  private var hasSomethingToWrite: Bool {
    !isOver && sentClose == nil && (pendingPong != nil || mailbox.hasOutgoing)
  }

  private func write() async {
    context.loop.assertInEventLoop()
    lastTurn = .now()
    do {
      while !isOver, sentClose == nil {
        try await context.control.passGate()
        guard let bytes = try await nextBatch() else { return }
        try await stream.write(bytes)
        bytesLeft()
        mailbox.sent()
        await yieldToLoop()
      }
    } catch {
      // The reader finds out why, and tells.
      if !isOver { stream.close() }
    }
  }

  /// The next frames to send; nil when there is nothing to send.
  private func nextBatch() async throws -> ByteBuffer? {
    var batch = ByteBuffer()
    writePong(into: &batch)
    while batch.readableBytes < WebSocketConversation.batchSize, let outgoing = mailbox.nextOutgoing() {
      switch outgoing {
      case .message(let message, _): try await write(message, into: &batch)
      case .ping(let waiter):
        lastPing &+= 1
        WebSocketWriter.ping(ByteBuffer(integer: lastPing), into: &batch)
        mailbox.pingSent(lastPing, waiter)
      }
    }
    if let closing = mailbox.closeIsDue, !isOver { beginClosing(closing, into: &batch) }
    return batch.readableBytes > 0 ? batch : nil
  }

  private func writePong(into batch: inout ByteBuffer) {
    guard let payload = pendingPong else { return }
    pendingPong = nil
    WebSocketWriter.pong(payload, into: &batch)
  }

  private func write(_ message: URLSessionWebSocketTask.Message, into batch: inout ByteBuffer) async throws {
    let (isText, payload) = WebSocketConversation.payload(of: message)
    task.bytesSent.add(Int64(payload.readableBytes), ordering: .relaxed)
    task.countersChanged()
    var frames = writer.message(isText: isText, payload)
    while !frames.next(into: &batch) {
      // A long message leaves in pieces; pongs go between them.
      try await stream.write(batch)
      bytesLeft()
      batch.clear()
      await yieldToLoop()
      writePong(into: &batch)
      guard !isOver else { throw CancellationError() }
      try await context.control.passGate()
    }
  }

  /// While the socket takes bytes as fast as they come, one write follows the other and the loop never looks at its
  /// sockets. So after each `turn` the loop gets the time to.
  private func yieldToLoop() async {
    guard NIODeadline.now() - lastTurn >= WebSocketConversation.turn else { return }
    await context.executor.turn()
    lastTurn = .now()
  }

  private static func payload(of message: URLSessionWebSocketTask.Message) -> (isText: Bool, ByteBuffer) {
    switch message {
    case .string(let text): return (true, ByteBuffer(string: text))
    case .data(let data): return (false, ByteBuffer(bytes: data))
    }
  }

  // MARK: Closing

  /// The app's close frame goes out; the server's is waited for, for a while.
  private func beginClosing(_ closing: WebSocketMailbox.Closing, into batch: inout ByteBuffer) {
    let status = WebSocketConversation.status(of: closing)
    WebSocketWriter.close(status, into: &batch)
    sentClose = .init(status)
    startPatience()
  }

  private static func status(of closing: WebSocketMailbox.Closing) -> WebSocketCloseStatus {
    WebSocketCloseStatus(wishedCode: closing.code.rawValue, reason: closing.reason ?? Data())
  }

  /// A server that still reads may take its time for the messages ahead of the close frame.
  private func bytesLeft() {
    if closeTimer != nil, sentClose == nil, !isOver { startPatience() }
  }

  private func startPatience() {
    guard !isOver else { return }
    closeTimer?.cancel()
    closeTimer = context.loop.assumeIsolated().scheduleTask(in: WebSocketConversation.patience) { self.endPatience() }
  }

  /// The server has not read, or not answered.
  private func endPatience() {
    // It may read again when all is over, so it gets a close frame in any case.
    guard sentClose != nil else { return context.control.abort(ErrorMapping.cancelled) }
    stream.end(sending: nil, patience: .zero)
    finish()
  }

  /// Sends a close frame, unless one was sent, and closes the connection. A waiting read ends.
  private func close(_ status: WebSocketCloseStatus) {
    guard !isOver else { return }
    var closeFrame: ByteBuffer?
    if sentClose == nil {
      var frame = ByteBuffer()
      WebSocketWriter.close(status, into: &frame)
      closeFrame = frame
    }
    stream.end(sending: closeFrame, patience: WebSocketConversation.patience)
    finish()
  }
}

extension WebSocketMailbox.Closing {
  init(_ status: WebSocketCloseStatus) {
    self.init(
      code: status.code.map { URLSessionWebSocketTask.CloseCode($0) } ?? .noStatusReceived,
      reason: status.reason.isEmpty ? nil : Data(status.reason))
  }
}
