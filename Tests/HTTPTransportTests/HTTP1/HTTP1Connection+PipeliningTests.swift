import HTTPSemantics
import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

/// Requests behind others on one connection, to servers of which every byte is scripted.
@Suite struct HTTP1ConnectionPipeliningTests {
  private func key(_ server: LoopbackServer) -> ConnectionKey {
    ConnectionKey(scheme: .http, host: "127.0.0.1", port: server.port)
  }

  /// One connection for each host.
  private static var single: TransportConfiguration {
    var configuration = TransportConfiguration()
    configuration.maximumConnectionsPerHost = 1
    return configuration
  }

  /// A server that answers each request.
  private func answering() async throws -> LoopbackServer {
    try await LoopbackServer.startRaw { connection in
      while try await connection.readRequestHead() != nil { try await connection.answer("answer") }
    }
  }

  /// The server takes what comes over the connection of a conversation for this conversation's: no request of others may
  /// be written behind the conversation's, and none may have been when it begins.
  @Test func aConversationSharesItsConnectionWithNoOtherRequest() async throws {
    let server = try await answering()
    let key = key(server)
    try await TransportOnLoop.run(Self.single) { loop in
      let pool = loop.transport.pool(for: key, near: loop.executor)
      _ = try await loop.load(key)
      let exchange = try await loop.exchange(key)
      try exchange.send(head: .of(key), body: .none)
      let follower = try #require(pool.pipelinedExchange(for: key))
      try follower.send(head: .of(key), body: .none)
      _ = try await exchange.nextHead()
      let early = await exchange.reserveConnection()
      #expect(early == nil)
      while try await exchange.nextChunk() != nil {}
      exchange.end()
      _ = try await follower.nextHead()
      let reservation = try #require(await follower.reserveConnection())
      #expect(pool.pipelinedExchange(for: key) == nil)
      while try await follower.nextChunk() != nil {}
      follower.end()
      let next = try #require(await self.next(reservation, loop))
      try next.send(head: .of(key), body: .none)
      #expect(pool.pipelinedExchange(for: key) == nil)
      _ = try await next.nextHead()
      while try await next.nextChunk() != nil {}
      next.end()
      reservation.release()
      _ = try await loop.load(key)
    }
    #expect(server.connectionCount == 1)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// The server may speak another protocol right behind such a request.
  @Test func noRequestFollowsOneThatAsksForAnotherProtocol() async throws {
    let server = try await answering()
    let key = key(server)
    try await TransportOnLoop.run(Self.single) { loop in
      let pool = loop.transport.pool(for: key, near: loop.executor)
      _ = try await loop.load(key)
      for asks in [true, false] {
        let exchange = try await loop.exchange(key)
        var head = HTTPRequestHead.of(key)
        if asks { head.fields.append("Upgrade", "websocket") }
        try exchange.send(head: head, body: .none)
        let follower = pool.pipelinedExchange(for: key)
        #expect((follower == nil) == asks)
        _ = try await exchange.nextHead()
        while try await exchange.nextChunk() != nil {}
        exchange.end()
        if let follower { _ = try await loop.load(on: follower, key) }
      }
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A server that says how many requests it still takes on the connection gets no more.
  @Test(arguments: [(1, 0), (2, 1), (4, 3), (100, 6)])
  func noMoreRequestsFollowThanTheServerTakes(_ most: Int, _ expected: Int) async throws {
    let server = try await LoopbackServer.startRaw { connection in
      var left = most
      while try await connection.readRequestHead() != nil {
        try await connection.answer("answer", fields: "Keep-Alive: timeout=60, max=\(left)\r\n")
        left -= 1
      }
    }
    let key = key(server)
    try await TransportOnLoop.run(Self.single) { loop in
      let pool = loop.transport.pool(for: key, near: loop.executor)
      _ = try await loop.load(key)
      let first = try await loop.exchange(key)
      try first.send(head: .of(key), body: .none)
      var followers: [any HTTPExchange] = []
      while let follower = pool.pipelinedExchange(for: key) {
        try follower.send(head: .of(key), body: .none)
        followers.append(follower)
      }
      #expect(followers.count == expected)
      _ = try await first.nextHead()
      while try await first.nextChunk() != nil {}
      first.end()
      for follower in followers {
        _ = try await follower.nextHead()
        while try await follower.nextChunk() != nil {}
        follower.end()
      }
    }
    #expect(server.connectionCount == 1)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  private func next(_ reservation: ConnectionReservation, _ loop: TransportOnLoop) async -> (any HTTPExchange)? {
    await withCheckedContinuation { continuation in
      reservation.exchange(for: loop.executor) { continuation.resume(returning: $0) }
    }
  }
}
