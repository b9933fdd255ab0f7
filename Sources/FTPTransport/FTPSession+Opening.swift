import HTTPSemantics
import HTTPTransport
import NIOCore

extension FTPSession {
  /// Begins a transfer, up to where its data comes or may go. Throws `FTPFailure` and `TransportError`.
  ///
  /// - Parameter login: nil: as the URL of the resource says.
  package func open(_ transfer: FTPTransfer, as login: FTPLogin? = nil) async throws -> FTPAnswer {
    executor.loop.assertInEventLoop()
    let resource = transfer.resource
    let connection = try await loggedIn(as: login ?? resource.login, toReach: resource.steps)
    let control = connection.control
    for step in connection.remaining(of: resource.steps) {
      try await succeed(step, .name, control)
      connection.entered(step)
    }
    if connection.type != resource.type {
      try await succeed(resource.type, .other(resource.type.verb), control)
      connection.type = resource.type
    }
    var answer = FTPAnswer()
    switch transfer.kind {
    case .store, .append:
      try await transferData(by: transfer.kind == .store ? resource.storage : resource.appending, .storage, connection)
      guard data != nil else {
        throw TransportError.connectionLost(reason: "the FTP server ended the transfer without a data connection")
      }
      listenWhileSending()
      return answer
    case .facts:
      try await transferData(by: resource.facts, .name, connection)
      if data == nil { try await endWithoutData() }
      return answer
    case .retrieve, .describe: break
    }
    if let question = resource.size {
      let reply = try await ask(question, control)
      answer.size = reply.size
      if transfer.kind == .describe, reply.code == 550 { throw FTPFailure(reply, to: .name) }
    }
    if transfer.wantsDate, let question = resource.date { answer.date = try await ask(question, control).date }
    if transfer.offset > 0, answer.size != nil, transfer.condition.map({ $0 == answer.date }) ?? true,
      resource.kind == .image
    {
      offset = transfer.offset
      if let size = answer.size, offset >= size { answer.endsBeforeOffset = true }
    }
    guard transfer.kind == .retrieve, !answer.endsBeforeOffset else {
      answer.offset = offset
      isConfirmed = true
      responseStart = .now()
      responseEnd = .now()
      return answer
    }
    if resource.kind == .listing {
      answer.listing = try await list(resource, connection)
      return answer
    }
    try await transferData(by: resource.retrieval, .name, connection)
    answer.offset = offset
    size = answer.size.map { $0 - offset }
    if data == nil { try await endWithoutData() }
    return answer
  }

  // MARK: Listings

  /// Asks for a folder: with facts where the server knows how, else as it shows it to people.
  private func list(_ resource: FTPResource, _ connection: FTPConnection) async throws -> FTPListingReader.Form {
    guard try await features(of: connection).listsFacts else {
      try await transferData(by: resource.retrieval, .name, connection)
      return .lines
    }
    do {
      try await transferData(by: resource.facts, .name, connection)
      return .facts
    } catch FTPFailure.unsuitable(let reply, _) where (500...504).contains(reply.code) {
      // It announces what it does not know. The data connection was meant for the refused command.
      connection.features = FTPFeatures.none
      data?.close()
      data = nil
      guard !isClosed else { throw TransportError.shutDown }
      try await transferData(by: resource.retrieval, .name, connection)
      return .lines
    }
  }

  /// The extensions of the server (FEAT). It is asked once a connection, behind the login: some servers answer nothing before.
  private func features(of connection: FTPConnection) async throws -> FTPFeatures {
    if let features = connection.features { return features }
    let features = FTPFeatures(try await ask(.features, connection.control))
    // A refusal leaves the facts that the server sends anyway.
    if let choice = features.choiceOfFacts { _ = try await ask(choice, connection.control) }
    connection.features = features
    return features
  }

  // MARK: The control connection

  private func loggedIn(as login: FTPLogin, toReach steps: [FTPCommand]) async throws -> FTPConnection {
    if let pool {
      let key = FTPPool.Key(server: server.key, security: server.security, login: login)
      if case .kept(let connection) = try await lease(key, from: pool, toReach: steps) {
        place = key
        reuse(connection)
        connection.handshake.client = server.handshake
        if await connection.isAlive(), !isClosed { return connection }
        guard !isClosed else { throw TransportError.shutDown }
        discardReused()
      } else {
        place = key
      }
    }
    let connection = try await connect()
    try await greet(connection)
    try await logIn(login, connection.control)
    if server.security != .none {
      try await succeed(.protectionBuffer, .protection, connection.control)
      try await succeed(.protectData, .protection, connection.control)
    }
    connection.isLoggedIn = true
    return connection
  }

  private func lease(_ key: FTPPool.Key, from pool: FTPPool, toReach steps: [FTPCommand]) async throws -> FTPPool.Lease
  {
    guard !isClosed else { throw TransportError.shutDown }
    if let lease = try pool.take(key, toReach: steps) { return lease }
    let waiter = pool.wait(for: key)
    (self.waiter, waiterKey) = (waiter, key)
    defer { (self.waiter, waiterKey) = (nil, nil) }
    while true {
      try await waiter.result.get()
      guard !isClosed else { throw TransportError.shutDown }
      if let lease = try pool.take(key, toReach: steps, as: waiter) { return lease }
      pool.waitAgain(waiter)
    }
  }

  private func connect() async throws -> FTPConnection {
    let (stream, record) = try await dial(server.key)
    self.connection = record
    let connection = FTPConnection(stream, record, on: executor.loop)
    connection.handshake.client = server.handshake
    control = connection
    onProgress()
    if server.security == .implicit { try await secure(connection) }
    return connection
  }

  private func secure(_ connection: FTPConnection) async throws {
    try await connection.control.startTLS(terms(connection) { self.note($0, connection) })
    onProgress()
  }

  private func note(_ secured: ConnectionRecord, _ connection: FTPConnection) {
    connection.record?.secureConnectionStart = secured.secureConnectionStart
    connection.record?.secureConnectionEnd = secured.secureConnectionEnd
    if let end = secured.secureConnectionEnd { connection.record?.connectEnd = end }
    connection.record?.tlsVersion = secured.tlsVersion
    connection.record?.tlsCipherSuite = secured.tlsCipherSuite
    connection.record?.serverCertificate = secured.serverCertificate
    connection.record?.clientCertificate = secured.clientCertificate
    self.connection = connection.record
  }

  private func terms(
    _ connection: FTPConnection, _ onRecord: (@Sendable (ConnectionRecord) -> Void)? = nil
  ) -> TLSTerms {
    var terms = TLSTerms(
      host: server.key.host, port: server.key.port, handshake: connection.handshake, transport: transport)
    terms.conversation = connection.conversation
    terms.onRecord = onRecord
    return terms
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

  private func greet(_ connection: FTPConnection) async throws {
    // RFC 959 §5.4: 120 announces that the server will be ready later.
    let reply = try await heard(connection.control)
    requestStart = .now()
    guard reply.isCompletion else { throw FTPFailure(reply, to: .greeting) }
    guard server.security == .explicit else { return }
    // RFC 4217 §4.2. A server that refuses is told nothing else.
    let answer = try await ask(.beginTLS, connection.control)
    guard answer.code == 234 else { throw FTPFailure(answer, to: .protection) }
    try await secure(connection)
  }

  private func logIn(_ login: FTPLogin, _ control: FTPControl) async throws {
    var reply = try await ask(login.user, control)
    var question = FTPFailure.Question.login
    if reply.code == 331 {
      reply = try taken(await control.askPassword(of: login), to: FTPLogin.passwordVerb)
      // RFC 959 §5.4: of these only 332, which wants an account, is an answer to a password.
      if (300..<400).contains(reply.code), reply.code != 332 { question = .other("PASS") }
    }
    guard reply.isCompletion else { throw FTPFailure(reply, to: question) }
  }

  // MARK: The data connection

  private func transferData(
    by command: FTPCommand, _ question: FTPFailure.Question, _ connection: FTPConnection
  ) async throws {
    let control = connection.control
    if server.isPassive {
      data = try await openData(control)
      try await begin(command, question, control)
    } else {
      data = try await receiveData(by: command, question, control)
    }
    guard server.security != .none, let data else { return }
    do { try await data.startTLS(terms(connection)) } catch {
      throw await explained(error, as: .protection)
    }
    guard !isClosed else { throw TransportError.shutDown }
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
    var place = server.key
    place.port = port
    if place.proxy == nil { place.host = connection?.remoteAddress.flatMap { FTPSession.host(of: $0) } ?? place.host }
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

  /// Asks for the transfer. The data connection is there, or will be made by the server.
  func begin(_ command: FTPCommand, _ question: FTPFailure.Question, _ control: FTPControl) async throws {
    // RFC 3659 §5.3: immediately before the transfer. A server that can't do it sends the whole.
    if offset > 0 {
      let isAccepted = try await ask(.restart(at: offset), control).code == 350
      if isAccepted { self.control?.hasUnusedOffset = true } else { offset = 0 }
    }
    let reply = try await ask(command, control)
    responseStart = .now()
    if question == .storage, reply.isCompletion { throw endedEarly(reply) }
    if reply.isPreliminary || reply.isCompletion { self.control?.hasUnusedOffset = false }
    // Some servers say of an empty file at once that it has been sent.
    isConfirmed = reply.isCompletion
    guard reply.isPreliminary || reply.isCompletion else { throw FTPFailure(reply, to: question) }
  }
}
