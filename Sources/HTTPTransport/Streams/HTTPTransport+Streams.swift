import NIOCore

/// What a connection that becomes a TLS connection is made one with.
package struct TLSTerms: Sendable {
  package let host: String
  package let port: Int
  /// Judges the server and says who the client is; without one the TLS library judges by the session's store.
  package let handshake: (any HandshakeClient)?
  package let transport: HTTPTransport

  package init(host: String, port: Int, handshake: (any HandshakeClient)?, transport: HTTPTransport) {
    self.host = host
    self.port = port
    self.handshake = handshake
    self.transport = transport
  }
}

extension HTTPTransport {
  /// Begins to connect to `key`, for bytes that are no HTTP: no pool has anything to do with it. On the loop of
  /// `executor`.
  package func connect(to key: ConnectionKey, on executor: LoopExecutor) -> StreamTicket {
    StreamTicket(connector: Connector(loop: executor.loop, tls: tls, configuration), key: key)
  }
}

/// One connection being made. Confined to its loop.
package final class StreamTicket: @unchecked Sendable {
  private var attempt: ConnectionAttempt?
  private var result: Result<SocketStream, any Error>?
  private var waiter: UnsafeContinuation<any DuplexStream, any Error>?
  /// What happened while the connection was made; nil until that is over.
  package private(set) var record: ConnectionRecord?

  init(connector: Connector, key: ConnectionKey) {
    attempt = connector.connect(to: key, isForHTTP: false) { result in
      switch result {
      case .success(let established):
        self.record = established.record
        self.settle(Result { try StreamTicket.stream(established) })
      case .failure(let failure):
        self.record = failure.record
        self.settle(.failure(failure.cause))
      }
    }
    if result != nil { attempt = nil }
  }

  private static func stream(_ established: EstablishedConnection) throws -> SocketStream {
    // The server may close its side and still listen.
    try? established.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    let early = established.earlyBytes
    let stream = SocketStream(channel: established.channel, input: early.readableBytes > 0 ? [early] : [])
    try stream.activate()
    return stream
  }

  /// Waits for the connection. Call once.
  package func stream() async throws -> any DuplexStream {
    if let result { return try result.get() }
    return try await withUnsafeThrowingContinuation { waiter = $0 }
  }

  /// Gives the connection up; `stream()` throws `error`.
  package func abort(_ error: any Error) {
    attempt?.giveUp()
    settle(.failure(error))
  }

  private func settle(_ outcome: Result<SocketStream, any Error>) {
    attempt = nil
    guard result == nil else {
      if case .success(let stream) = outcome { stream.close() }
      return
    }
    result = outcome
    let waiter = self.waiter
    self.waiter = nil
    waiter?.resume(with: outcome.map { $0 as any DuplexStream })
  }
}
