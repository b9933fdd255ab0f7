import NIOCore

extension SocketStream {
  func startTLS(_ terms: TLSTerms) async throws {
    // Bytes that came in the clear would be read as if they had come protected: how a man in the middle puts words
    // into a server's mouth (RFC 9051 §11.1 tells of it for IMAP).
    guard !hasUnreadInput else {
      throw TransportError.tlsHandshakeFailed(.other("the server sent bytes before the handshake that nobody has read"))
    }
    var key = ConnectionKey(scheme: .https, host: terms.host, port: terms.port)
    key.allowsHTTP2 = false
    let attempt = ConnectionAttempt(
      loop: channel.eventLoop, key: key, client: terms.handshake, networks: terms.transport.configuration.networks)
    attempt.isAttended = true
    attempt.isForHTTP = false
    let secured: EventLoopFuture<Void>
    do {
      // Inside of TLS that is there already: a proxy's own.
      try attempt.addTLS(to: channel, terms.transport.tls, position: .before(self))
      secured = attempt.secured(channel).map { _ in }
    } catch { throw attempt.explain(error) }
    let result: Result<Void, any Error> = await withUnsafeContinuation { continuation in
      secured.assumeIsolated().whenComplete { continuation.resume(returning: $0) }
    }
    do { try result.get() } catch { throw attempt.explain(error) }
  }
}
