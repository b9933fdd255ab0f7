import NIOCore
import NIOSSL

extension ConnectionAttempt {
  /// Adds TLS to the pipeline of `channel`, for the host of the key: at its end, or elsewhere. On the loop.
  func addTLS(
    to channel: any Channel, _ contexts: TLSContexts,
    position: ChannelPipeline.SynchronousOperations.Position = .last
  ) throws {
    loop.assertInEventLoop()
    let (context, attended) = try contexts.context(for: self)
    let name = Connector.serverName(key.host)
    let handler: NIOSSLClientHandler
    if client == nil {
      handler = try NIOSSLClientHandler(context: context, serverHostname: name)
    } else {
      handler = try NIOSSLClientHandler(context: context, serverHostname: name) { [weak self] certificates, promise in
        guard let self else { return promise.succeed(.failed) }
        self.verify(certificates, promise)
      }
    }
    resumeEarlierSession(on: channel, handler, contexts.sessions)
    let handlers: [any ChannelHandler] = [
      ServerHelloObserver(attempt: self), handler,
      HandshakeObserver(attempt: self, handler: handler) {
        if let attended { contexts.completed(attended) }
      },
    ]
    try channel.pipeline.syncOperations.addHandlers(handlers, position: position)
  }

  /// If the app may not be asked about the connection, a resumed handshake takes no question away.
  private func resumeEarlierSession(
    on channel: any Channel, _ handler: NIOSSLClientHandler, _ sessions: TLSSessionCache
  ) {
    guard client?.mayBeAsked != true || isPartOfConversation else { return }
    let limits = client?.limits ?? HandshakeLimits()
    let key = TLSSessionCache.Key(
      host: key.host, port: key.port,
      protocols: isForHTTP ? (key.allowsHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]) : [],
      minimumVersion: limits.minimumVersion, requiresForwardSecrecy: limits.requiresForwardSecrecy,
      isUnattended: client == nil, identity: key.identity, isOfConversation: isPartOfConversation)
    sessions.attach(handler, key: key, channel: channel) {
      [askedForCertificate, isPartOfConversation] in
      isPartOfConversation || !askedForCertificate.withLockedValue { $0 }
    }
  }

  // MARK: The server

  private func verify(_ certificates: [NIOSSLCertificate], _ promise: EventLoopPromise<NIOSSLVerificationResult>) {
    // An empty list is refused like one that can't be read.
    judge((try? certificates.map { try $0.toDERBytes() }) ?? []) { isTrusted in
      promise.succeed(isTrusted ? .certificateVerified : .failed)
    }
  }

  /// Asks whether the server is the right one, and settles the attempt where it is not, before `completion` is called.
  func judge(_ chain: [[UInt8]], _ completion: @escaping (_ isTrusted: Bool) -> Void) {
    verdict(on: chain) { result in
      if case .failure(let error) = result { self.settle(.failure(error)) }
      completion((try? result.get()) != nil)
    }
  }

  /// As `judge`, and settles nothing.
  func verdict(on chain: [[UInt8]], _ completion: @escaping (Result<Void, any Error>) -> Void) {
    loop.assertInEventLoop()
    noteCertificates(chain)
    let verdict = loop.makePromise(of: Void.self)
    verdict.futureResult.assumeIsolated().whenComplete { result in
      self.questionEnded()
      completion(result)
    }
    guard !chain.isEmpty else {
      return verdict.fail(TransportError.tlsHandshakeFailed(.other("the server's certificates can't be read")))
    }
    ask {
      $0.judge(chain, verdict)
    } orFail: {
      verdict.fail($0)
    }
  }

  // MARK: The client

  /// The TLS library may come here several times in one handshake; the client is asked once.
  func certificateWanted(_ promise: EventLoopPromise<NIOSSLContextConfigurationOverride>) {
    loop.assertInEventLoop()
    guard !isSettled else { return promise.succeed(.noChanges) }
    if let identityChoice { return identityChoice.futureResult.cascade(to: promise) }
    let override = loop.makePromise(of: NIOSSLContextConfigurationOverride.self)
    identityChoice = override
    override.futureResult.cascade(to: promise)
    let request = CertificateRequest(
      authorities: CertificateRequestReader.authorities(
        in: helloObserver?.flight ?? [], secret: serverHandshakeSecret))
    chooseIdentity(for: request) { result in
      do {
        guard let identity = try result.get() else { return override.succeed(.noChanges) }
        var changes = NIOSSLContextConfigurationOverride()
        changes.certificateChain = try identity.certificates.map {
          .certificate(try NIOSSLCertificate(bytes: $0, format: .der))
        }
        changes.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: identity.privateKey, format: .der))
        self.record.clientCertificate = .sent
        override.succeed(changes)
      } catch {
        self.settle(.failure(error))
        override.fail(error)
      }
    }
  }

  /// Asks who the client is. Settles nothing.
  func chooseIdentity(
    for request: CertificateRequest, _ completion: @escaping (Result<ClientIdentity?, any Error>) -> Void
  ) {
    loop.assertInEventLoop()
    record.clientCertificate = .withheld
    askedForCertificate.withLockedValue { $0 = true }
    let choice = loop.makePromise(of: ClientIdentity?.self)
    choice.futureResult.assumeIsolated().whenComplete { result in
      self.questionEnded()
      completion(result)
    }
    ask {
      $0.chooseIdentity(for: request, choice)
    } orFail: {
      choice.fail($0)
    }
  }

  /// A line in the format of NSS key logs: a label, the client's random bytes, the secret. Only the one that protects
  /// the server's side of the handshake is kept, and only until its end.
  func noteSecret(_ line: ByteBuffer) {
    guard loop.inEventLoop, !isSettled else { return }
    // Five lines come for each handshake, and few servers ask for a certificate.
    if let secret = KeyLogLine.serverHandshakeSecret(in: line) { serverHandshakeSecret = secret }
  }

  // MARK: Asking

  /// Asks the waiter of this connection. Without one, the client it was begun for still judges by the rules; but where
  /// an app may be asked, a connection is not accepted without it.
  private func ask(_ question: (any HandshakeClient) -> Void, orFail fail: (any Error) -> Void) {
    questionBegan()
    if isAttended, let client { return question(client) }
    if let pending = respondent() {
      asked = pending
      if let client = pending.handshake { return question(client) }
    }
    guard let client, !client.mayBeAsked else {
      return fail(TransportError.tlsHandshakeFailed(.other("no load waits for the connection any more")))
    }
    question(client)
  }
}
