import EveryVersion
import Foundation
import HTTPSemantics
import LoopbackServer
import Testing
import URLLoadingSystem

/// WebSockets of servers that want to know who is there.
@Suite(.overEveryVersion) struct WebSocketAuthenticationTests {
  /// Opens a socket that echoes for a handshake that `isKnown` takes, and asks every other one.
  private func withPeer(
    _ challenge: String, _ isKnown: @escaping @Sendable (WebSocketPeer) -> Bool,
    _ body: (LoopbackServer, Recorder<String?>) async throws -> Void
  ) async throws {
    let seen = Recorder<String?>()
    try await URLLoadingSystemTests.withPeer({ first in
      var peer = first
      while true {
        seen.record(peer.value("Authorization"))
        if isKnown(peer) {
          try await peer.open()
          return try await peer.echo()
        }
        try await peer.answer("401 Unauthorized", ["WWW-Authenticate: \(challenge)", "Content-Length: 0"])
        // The same connection takes the next handshake.
        guard let next = try await peer.next() else { return }
        peer = next
      }
    }) { server in try await body(server, seen) }
  }

  private func expectEcho(_ task: URLSessionWebSocketTask) async throws {
    task.resume()
    try await task.send(.string("hi"))
    #expect(try await task.receive().text == "hi")
    task.cancel(with: .normalClosure, reason: nil)
  }

  @Test func theHandshakeIsRepeatedWithTheCredential() async throws {
    try await withPeer(#"Basic realm="here""#, { $0.value("Authorization") == basic("ann", "1") }) { server, seen in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 { try await expectEcho(session.webSocketTask(with: server.socketURL("/chat"))) }
      // The second handshake says it unasked.
      #expect(seen.all == [nil, basic("ann", "1"), basic("ann", "1")])
      let challenge = try #require(delegate.asked.all.first)
      #expect(delegate.asked.all.count == 1 && challenge.protectionSpace.realm == "here")
      #expect(challenge.protectionSpace.protocol == server.url().scheme)
      #expect((challenge.failureResponse as? HTTPURLResponse)?.statusCode == 401)
    }
  }

  /// Over HTTP/2 the method is CONNECT (RFC 8441 §4).
  @Test func theHandshakeProvesThePassword() async throws {
    let method = WireVersion.current == .http1 ? "GET" : "CONNECT"
    let judge: @Sendable (WebSocketPeer) -> Bool = { peer in
      guard let value = peer.value("Authorization"),
        let parameters = AuthenticationChallenge.parse([value]).first?.parameters,
        let count = parameters["nc"], let cnonce = parameters["cnonce"], parameters["uri"] == peer.target
      else { return false }
      func hex(_ text: String) -> String { DigestHash.sha256.hex(Array(text.utf8)) }
      let end = "first:\(count):\(cnonce):auth:\(hex("\(method):\(peer.target)"))"
      return parameters["response"] == hex("\(hex("ann:here:1")):\(end)")
    }
    let challenge = #"Digest realm="here", nonce="first", qop="auth", algorithm=SHA-256"#
    try await withPeer(challenge, judge) { server, seen in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 { try await expectEcho(session.webSocketTask(with: server.socketURL("/chat?room=1"))) }
      #expect(seen.all.map { $0?.hasPrefix("Digest ") } == [nil, true, true])
      // Each request counts once.
      #expect(seen.all.map { $0?.contains("nc=00000002") } == [nil, false, true])
      #expect(delegate.asked.all.map(\.protectionSpace.authenticationMethod) == [NSURLAuthenticationMethodHTTPDigest])
    }
  }

  @Test(arguments: [URLSession.AuthChallengeDisposition.performDefaultHandling, .cancelAuthenticationChallenge])
  func withoutACredentialThereIsNoSocket(_ disposition: URLSession.AuthChallengeDisposition) async throws {
    try await withPeer(#"Basic realm="here""#, { _ in false }) { server, seen in
      let session = URLSession.answering(CredentialDelegate { _ in (disposition, nil) })
      defer { session.invalidateAndCancel() }
      let task = session.webSocketTask(with: server.socketURL("/chat"))
      task.resume()
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == (disposition == .cancelAuthenticationChallenge ? .cancelled : .badServerResponse))
      #expect(seen.all == [nil])
    }
  }
}
