import NIOCore

extension SocketStream {
  func startTLS(_ terms: TLSTerms) async throws {
    channel.eventLoop.assertInEventLoop()
    if terms.handshake == nil {
      try await terms.transport.tls.prepareUnattended(offersHTTP2: false, on: channel.eventLoop)?.valueOnLoop()
    }
    // Unprotected bytes would be read as if they had come protected, which lets an attacker on the way add to what the
    // server says (RFC 9051 §11.1 describes it for IMAP).
    guard !hasUnreadInput else {
      throw TransportError.tlsHandshakeFailed(.other("the server sent bytes before the handshake that were not read"))
    }
    // Neither an answer nor an end of the channel is to be waited for.
    guard channel.isActive, !inputEnded else {
      let failure = TLSLibraryFailure(.connectionEnded, text: "the connection was closed")
      throw TransportError.tlsHandshakeFailed(.library(failure))
    }
    var key = ConnectionKey(scheme: .https, host: terms.host, port: terms.port)
    key.allowsHTTP2 = false
    if let conversation = terms.conversation { key.identity = .authenticatedUser(conversation) }
    let attempt = ConnectionAttempt(
      loop: channel.eventLoop, key: key, client: terms.handshake, networks: terms.transport.configuration.networks)
    attempt.isAttended = true
    attempt.isForHTTP = false
    attempt.isPartOfConversation = terms.conversation != nil
    defer { terms.onRecord?(attempt.record) }
    let secured: EventLoopFuture<Void>
    do {
      // Inside of TLS that is there already: a proxy's own.
      try attempt.addTLS(to: channel, terms.transport.tls, position: .before(self))
      secured = attempt.secured(channel).map { _ in }
    } catch { throw attempt.explain(error) }
    do { try await secured.valueOnLoop() } catch { throw attempt.explain(error) }
  }
}
