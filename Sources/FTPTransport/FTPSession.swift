import HTTPSemantics
import HTTPTransport
import NIOCore

/// One resource fetched from an FTP server, over connections of its own. Confined to its loop.
///
/// 1. `open` connects, logs in, changes to the folder, sets the type, asks for the size, lets the server open a port for
///    the data (EPSV, RFC 2428; PASV where it does not know that), connects there, and asks for the file. In active mode
///    the server connects to a port of ours instead (`FTPSession+Active.swift`). It returns when the data comes.
/// 2. `read` pulls the data. Its end counts only when the server says so, too, on the control connection.
/// 3. `close` sends QUIT; `abort` closes the connections at once.
///
/// The data connection goes where the control connection went: to the same address, or to the same name by the same
/// proxy. The address that the server may name is ignored, since it could be any other host's (RFC 2577 §3). In active mode,
/// where no proxy can be on the way, it comes from there.
package final class FTPSession: @unchecked Sendable {
  private let transport: HTTPTransport
  let executor: LoopExecutor
  private let key: ConnectionKey
  private let isPassive: Bool
  /// Called when something has come.
  private let onProgress: () -> Void

  private var connecting: StreamConnecting?
  private var control: FTPControl?
  private var data: (any DuplexStream)?
  /// The port that the server is to connect to, until it has.
  var listener: StreamListener?
  /// The server's reply at the end of the transfer, when it is waited for while data comes.
  var ending: Task<FTPReply, any Error>?
  /// Whether the server's word that all was sent is waited for while data may still come.
  private var isListeningForEnd = false
  /// Whether the server said that all was sent, and left the data connection open.
  private var isEndedByReply = false
  private var endTimer: Scheduled<Void>?
  private var size: Int64?
  private var received: Int64 = 0
  private(set) var isConfirmed = false
  private(set) var isClosed = false

  /// How the control connection was made, or how far it got.
  package private(set) var connection: ConnectionRecord?
  package private(set) var requestStart: NIODeadline?
  package private(set) var responseStart: NIODeadline?
  package private(set) var responseEnd: NIODeadline?
  package var bytesOfCommands: Int64 { control?.bytesSent ?? 0 }
  package var bytesOfReplies: Int64 { control?.bytesReceived ?? 0 }
  package var bytesOfData: Int64 { received }

  /// - Parameters:
  ///   - key: The server, and the proxy that passes bytes on to it, if there is one.
  ///   - isPassive: Whether the server is connected to for the data, as it always is through a proxy.
  package init(
    to key: ConnectionKey, isPassive: Bool, transport: HTTPTransport, executor: LoopExecutor,
    onProgress: @escaping () -> Void
  ) {
    self.key = key
    self.isPassive = isPassive || key.proxy != nil
    self.transport = transport
    self.executor = executor
    self.onProgress = onProgress
  }

  // MARK: Opening

  /// Returns the resource's size where the server tells it. Throws `FTPFailure` and `TransportError`.
  ///
  /// - Parameter login: nil: as the URL of the resource says.
  package func open(_ resource: FTPResource, as login: FTPLogin? = nil) async throws -> Int64? {
    executor.loop.assertInEventLoop()
    let control = try await connect()
    try await greet(control)
    try await logIn(login ?? resource.login, control)
    for step in resource.steps { try await succeed(step, .name, control) }
    try await succeed(resource.type, .other(resource.type.verb), control)
    if let question = resource.size { size = try await ask(question, control).size }
    if isPassive {
      data = try await openData(control)
      try await begin(resource.retrieval, control)
    } else {
      data = try await receiveData(by: resource.retrieval, control)
    }
    return size
  }

  private func connect() async throws -> FTPControl {
    let (stream, record) = try await dial(key)
    connection = record
    let control = FTPControl(stream, on: executor.loop)
    self.control = control
    onProgress()
    return control
  }

  /// A connection, unless the session is closed meanwhile.
  private func dial(_ key: ConnectionKey) async throws -> (any DuplexStream, ConnectionRecord?) {
    guard !isClosed else { throw TransportError.shutDown }
    let connecting = transport.connect(to: key, on: executor)
    self.connecting = connecting
    defer { self.connecting = nil }
    do {
      let stream = try await connecting.stream()
      guard !isClosed else {
        stream.close()
        throw TransportError.shutDown
      }
      return (stream, connecting.record)
    } catch {
      // How far the first connection got is what a failure is about; a data connection is not one of those.
      if control == nil { connection = connecting.record }
      throw error
    }
  }

  private func greet(_ control: FTPControl) async throws {
    // RFC 959 §5.4: 120 announces that the server will be ready later.
    let reply = try await heard(control)
    requestStart = .now()
    guard reply.isCompletion else { throw FTPFailure(reply, to: .greeting) }
  }

  private func logIn(_ login: FTPLogin, _ control: FTPControl) async throws {
    var reply = try await ask(login.user, control)
    var question = FTPFailure.Question.login
    if reply.code == 331 {
      reply = try await ask(login.password, control)
      // RFC 959 §5.4: of these only 332, which wants an account, is an answer to a password.
      if (300..<400).contains(reply.code), reply.code != 332 { question = .other("PASS") }
    }
    guard reply.isCompletion else { throw FTPFailure(reply, to: question) }
  }

  /// The connection for the data, opened before the data is asked for.
  private func openData(_ control: FTPControl) async throws -> any DuplexStream {
    let reply = try await ask(FTPCommand("EPSV"), control)
    var refusal: TransportError?
    if let port = reply.extendedPassivePort {
      do { return try await openData(at: port) } catch let error as TransportError {
        // A firewall may open only the ports that it reads in the answer to PASV.
        guard case .cannotConnect = error, !isClosed, case .v4? = connection?.remoteAddress else { throw error }
        refusal = error
      }
    } else if !(500..<600).contains(reply.code) || reply.code == 530 {
      throw FTPFailure(reply, to: .other("EPSV"))
    }
    let older = try await ask(FTPCommand("PASV"), control)
    guard let port = older.passivePort else { throw refusal ?? FTPFailure(older, to: .other("PASV")) }
    return try await openData(at: port)
  }

  private func openData(at port: Int) async throws -> any DuplexStream {
    var place = key
    place.port = port
    if key.proxy == nil { place.host = connection?.remoteAddress.flatMap { FTPSession.host(of: $0) } ?? key.host }
    let stream = try await dial(place).0
    onProgress()
    return stream
  }

  /// The address as text that leads back to it: of a link-local one with its interface.
  private static func host(of address: SocketAddress) -> String? {
    guard let text = address.ipAddress else { return nil }
    guard case .v6(let address) = address, address.address.sin6_scope_id != 0 else { return text }
    return "\(text)%\(address.address.sin6_scope_id)"
  }

  func begin(_ command: FTPCommand, _ control: FTPControl) async throws {
    let reply = try await ask(command, control)
    responseStart = .now()
    // Some servers say of an empty file at once that it has been sent.
    isConfirmed = reply.isCompletion
    guard reply.isPreliminary || reply.isCompletion else { throw FTPFailure(reply, to: .name) }
  }

  private func succeed(
    _ command: FTPCommand, _ question: FTPFailure.Question, _ control: FTPControl
  ) async throws {
    let reply = try await ask(command, control)
    guard reply.isCompletion else { throw FTPFailure(reply, to: question) }
  }

  func ask(_ command: FTPCommand, _ control: FTPControl) async throws -> FTPReply {
    let reply = try await control.ask(command)
    onProgress()
    // It may close at any time, and says so in answer to whatever is next.
    guard reply.code != 421 else { throw FTPFailure(reply, to: .other(command.verb)) }
    return reply
  }

  private func heard(_ control: FTPControl) async throws -> FTPReply {
    let reply = try await control.finalReply()
    onProgress()
    return reply
  }

  // MARK: Reading

  /// The next bytes, never empty; nil when all have come and the server has said so.
  package func read() async throws -> ByteBuffer? {
    executor.loop.assertInEventLoop()
    guard let data else { return nil }
    if let size, received >= size { listenForEnd() }
    do {
      if let bytes = try await data.read() {
        received += Int64(bytes.readableBytes)
        onProgress()
        return bytes
      }
    } catch {
      guard isEndedByReply else { throw error }
    }
    endTimer?.cancel()
    data.close()
    self.data = nil
    if let control, !isConfirmed {
      let reply = if let ending { try await ending.value } else { try await heard(control) }
      guard reply.isCompletion else { throw FTPFailure(reply, to: .end) }
    }
    // A file that grows while it is sent is no contradiction; one that is shorter than it was is not whole.
    if let size, received < size { throw FTPFailure.truncated(count: received, size: size) }
    responseEnd = .now()
    return nil
  }

  /// All bytes that the server has announced are here. A server that says so, too, and leaves the data connection open
  /// has ended the transfer; one whose file has grown is given a moment for the rest.
  private func listenForEnd() {
    guard !isListeningForEnd, !isConfirmed, let control else { return }
    isListeningForEnd = true
    let ending = self.ending ?? Task(executorPreference: executor) { try await self.heard(control) }
    self.ending = ending
    Task(executorPreference: executor) {
      guard let reply = try? await ending.value, reply.isCompletion else { return }
      self.endSoon()
    }
  }

  private func endSoon() {
    guard data != nil else { return }
    endTimer = executor.loop.assumeIsolated().scheduleTask(in: FTPSession.patience) {
      self.isEndedByReply = true
      self.data?.close()
    }
  }

  /// How long the data connection may stay open once the server has said that all was sent.
  private static let patience = TimeAmount.milliseconds(500)

  // MARK: Ending

  /// Ends the session in order: the server is told.
  package func close() {
    executor.loop.assertInEventLoop()
    guard !isClosed else { return }
    isClosed = true
    endTimer?.cancel()
    data?.close()
    data = nil
    control?.quit()
  }

  /// Closes the connections at once. Every wait ends with an error.
  package func abort(_ error: any Error) {
    executor.loop.assertInEventLoop()
    isClosed = true
    endTimer?.cancel()
    connecting?.abort(error)
    listener?.abort(error)
    data?.close()
    control?.close()
  }
}
