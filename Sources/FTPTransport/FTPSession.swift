import HTTPSemantics
import HTTPTransport
import NIOCore

/// One transfer from or to an FTP server. Confined to its loop.
///
/// 1. `open` (`FTPSession+Opening.swift`) takes a kept control connection or makes one and logs in, changes to the
///    folder, sets the type, asks for what is known of the file, lets the server open a port for the data (EPSV, RFC 2428;
///    PASV where it does not know that), connects there, and asks for the transfer. In active mode the server connects to
///    a port of ours instead (`FTPSession+Active.swift`). It returns when the data comes, or may go.
/// 2. `read` pulls the data. Its end counts only when the server says so, too, on the control connection.
///    `write` and `finishWriting` (`FTPSession+Sending.swift`) send it.
/// 3. `close` gives the control connection back, or sends QUIT; `abort` closes the connections at once.
///
/// The data connection goes where the control connection went: to the same address, or to the same name by the same
/// proxy. The address that the server may name is ignored, since it could be any other host's (RFC 2577 §3). In active mode,
/// where no proxy can be on the way, it comes from there.
package final class FTPSession: @unchecked Sendable {
  let transport: HTTPTransport
  let executor: LoopExecutor
  let server: FTPServer
  /// nil: the control connection is not kept.
  let pool: FTPPool?
  /// Called when something has come.
  let onProgress: () -> Void

  var connecting: StreamConnecting?
  var control: FTPConnection?
  var data: (any DuplexStream)?
  /// The key of the place in the pool, while there is one.
  var place: FTPPool.Key?
  var waiter: FTPPool.Waiter?
  var waiterKey: FTPPool.Key?
  /// The port that the server is to connect to, until it has.
  var listener: StreamListener?
  /// The server's reply at the end of the transfer, when it is waited for while data comes.
  var ending: Task<FTPReply, any Error>?
  /// The reply of a server that did not wait for the end of what is sent to it, as a failure.
  var earlyEnd: FTPFailure?
  /// Whether the server's word that all was sent is waited for while data may still come.
  private var isListeningForEnd = false
  /// Whether the server said that all was sent, while data might still come.
  private var isSaidToBeSent = false
  /// Whether that was said, and no data came for a moment.
  private var isEndedByReply = false
  /// Whether `read` waits for data.
  private var isReading = false
  private var endTimer: Scheduled<Void>?
  /// How long a data connection on which nothing comes may stay open once the server has said that all was sent; in active
  /// mode also how long it may take to come.
  var patience = TimeAmount.milliseconds(500)
  /// Of the data, where the server tells it.
  var size: Int64?
  /// The offset of the first byte of the data; known when it comes.
  var offset: Int64 = 0
  private var received: Int64 = 0
  var written: Int64 = 0
  var isConfirmed = false
  private(set) var isClosed = false
  private var bytesBefore: (commands: Int64, replies: Int64) = (0, 0)

  /// How the control connection was made, or how far it got.
  package var connection: ConnectionRecord?
  /// Whether it had served another session.
  package private(set) var isReused = false
  package var requestStart: NIODeadline?
  package var responseStart: NIODeadline?
  package var responseEnd: NIODeadline?
  private var bytesAtEnd: (commands: Int64, replies: Int64)?
  package var bytesOfCommands: Int64 {
    executor.loop.assertInEventLoop()
    return (bytesAtEnd?.commands ?? control?.control.bytesSent ?? 0) - bytesBefore.commands
  }
  package var bytesOfReplies: Int64 {
    executor.loop.assertInEventLoop()
    return (bytesAtEnd?.replies ?? control?.control.bytesReceived ?? 0) - bytesBefore.replies
  }
  package var bytesOfData: Int64 {
    executor.loop.assertInEventLoop()
    return received
  }
  /// Bytes of a file that the kernel has taken.
  package var sent: Int64 {
    executor.loop.assertInEventLoop()
    return written
  }

  /// - Parameter pool: The control connections that are kept; nil: a new one is made, and none is kept.
  package init(
    to server: FTPServer, transport: HTTPTransport, executor: LoopExecutor, pool: FTPPool? = nil,
    onProgress: @escaping () -> Void
  ) {
    self.server = server
    self.transport = transport
    self.executor = executor
    self.pool = pool
    self.onProgress = onProgress
  }

  /// Goes on with a connection that has served another session.
  func reuse(_ connection: FTPConnection) {
    control = connection
    self.connection = connection.record
    isReused = true
    bytesBefore = (connection.control.bytesSent, connection.control.bytesReceived)
    requestStart = .now()
  }

  /// The kept connection is of no use.
  func discardReused() {
    control?.close()
    control = nil
    connection = nil
    isReused = false
    bytesBefore = (0, 0)
    requestStart = nil
  }

  func ask(_ command: FTPCommand, _ control: FTPControl) async throws -> FTPReply {
    try taken(await control.ask(command), to: command.verb)
  }

  func taken(_ reply: FTPReply, to verb: String) throws -> FTPReply {
    onProgress()
    // It may close at any time, and says so in answer to whatever is next.
    guard reply.code != 421 else { throw FTPFailure(reply, to: .other(verb)) }
    return reply
  }

  func succeed(_ command: FTPCommand, _ question: FTPFailure.Question, _ control: FTPControl) async throws {
    let reply = try await ask(command, control)
    guard reply.isCompletion else { throw FTPFailure(reply, to: question) }
  }

  func heard(_ control: FTPControl) async throws -> FTPReply {
    let reply = try await control.finalReply()
    onProgress()
    return reply
  }

  // MARK: Reading

  /// The next bytes, never empty; nil when all have come and the server has said so.
  package func read() async throws -> ByteBuffer? {
    executor.loop.assertInEventLoop()
    guard let data else {
      guard responseEnd != nil else { throw TransportError.shutDown }
      return nil
    }
    if let size, received >= size { listenForEnd() }
    do {
      if let bytes = try await nextData(of: data) {
        received += Int64(bytes.readableBytes)
        onProgress()
        return bytes
      }
    } catch {
      guard isEndedByReply else { throw error }
    }
    // The end of a connection that was closed here is not the end of the file.
    guard !isClosed else { throw TransportError.shutDown }
    data.close()
    self.data = nil
    try await hearEnd()
    // A file that grows while it is sent is no contradiction; one that is shorter than it was is not whole.
    if let size, received < size { throw FTPFailure.truncated(count: received, size: size) }
    responseEnd = .now()
    return nil
  }

  private func nextData(of data: any DuplexStream) async throws -> ByteBuffer? {
    isReading = true
    if isSaidToBeSent { startEndTimer() }
    defer {
      isReading = false
      endTimer?.cancel()
    }
    return try await data.read()
  }

  /// Waits for the server's word that all was transferred.
  func hearEnd() async throws {
    guard !isConfirmed else { return }
    guard let control = control?.control else { throw TransportError.shutDown }
    let reply = if let ending { try await ending.value } else { try await heard(control) }
    guard reply.isCompletion else { throw FTPFailure(reply, to: .end) }
    isConfirmed = true
  }

  /// All bytes that the server has announced are here. A server that says so, too, and leaves the data connection open
  /// has ended the transfer; one whose file has grown is given a moment for the rest.
  private func listenForEnd() {
    guard !isListeningForEnd, !isConfirmed, let control = control?.control else { return }
    isListeningForEnd = true
    let ending = self.ending ?? Task(executorPreference: executor) { try await self.heard(control) }
    self.ending = ending
    Task(executorPreference: executor) {
      guard let reply = try? await ending.value, reply.isCompletion else { return }
      self.endSoon()
    }
  }

  /// Bytes that are on their way still come: all that comes begins the moment anew, and it does not pass while the reader is
  /// held back.
  private func endSoon() {
    isSaidToBeSent = true
    if isReading { startEndTimer() }
  }

  private func startEndTimer() {
    endTimer?.cancel()
    endTimer = executor.loop.assumeIsolated().scheduleTask(in: patience) {
      self.isEndedByReply = true
      self.data?.close()
    }
  }

  /// In active mode: the server has said that all was sent, and may not have made the data connection.
  func endSoon(unlessConnected listener: StreamListener) {
    guard self.listener === listener else { return }
    endTimer = executor.loop.assumeIsolated().scheduleTask(in: patience) { listener.abort(NoDataConnection()) }
  }

  func dataConnectionIsMade() { endTimer?.cancel() }

  /// The server ended a transfer for which it made no data connection.
  struct NoDataConnection: Error {}

  /// Such a transfer had nothing to send, unless the server has said before that there is.
  func endWithoutData() async throws {
    try await hearEnd()
    if let size, size > 0 { throw FTPFailure.truncated(count: 0, size: size) }
    responseEnd = .now()
  }

  // MARK: Closing

  /// Ends the session in order: the control connection is kept, or the server is told.
  package func close() {
    executor.loop.assertInEventLoop()
    guard !isClosed else { return }
    end()
    leave { connection in
      if let pool, let place { pool.giveBack(connection, of: place) } else { connection?.quit() }
    }
  }

  /// Closes the connections at once. Every wait ends with an error.
  package func abort(_ error: any Error) {
    executor.loop.assertInEventLoop()
    guard !isClosed else { return }
    end()
    connecting?.abort(error)
    listener?.abort(error)
    if let waiter, let waiterKey { pool?.giveUp(waiter, for: waiterKey, error) }
    leave { connection in
      connection?.close()
      if let place { pool?.giveBack(nil, of: place) }
    }
  }

  private func end() {
    isClosed = true
    endTimer?.cancel()
    data?.close()
    data = nil
  }

  /// Parts with the control connection.
  private func leave(_ body: (FTPConnection?) -> Void) {
    if let control { bytesAtEnd = (control.control.bytesSent, control.control.bytesReceived) }
    let connection = control
    control = nil
    body(connection)
    place = nil
  }
}
