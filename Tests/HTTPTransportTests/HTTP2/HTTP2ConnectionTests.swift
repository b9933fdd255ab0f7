import HTTPSemantics
import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

/// Connections of HTTP/2 against servers of which every frame is scripted.
@Suite struct HTTP2ConnectionTests {
  /// A connection that breaks is not leased again: requests that wait, none of which was sent, get another one, though the
  /// socket of the first is still closing.
  @Test func requestsThatWaitedForABrokenConnectionAreSentOnAnother() async throws {
    let waits = Gate()
    let server = try await HTTP2Peer.start { peer in
      try await peer.greet([(3, 1)])
      if peer.connection.number == 1 {
        _ = try await peer.request()
        try await waits.wait()
        // RFC 9113 §6.1: DATA belongs to a stream.
        try await peer.write(HTTP2Peer.data(0, "nonsense"))
        while try await peer.connection.read() != nil {}
      } else {
        while let (stream, fields) = try await peer.request() {
          try await peer.answer(stream, fields[":method"] ?? "")
        }
      }
    }
    let key = ConnectionKey(scheme: .https, host: "127.0.0.1", port: server.port)
    try await TransportOnLoop.run(try TransportOnLoop.trusting()) { loop in
      let first = try await loop.exchange(key)
      try first.send(head: .of(key), body: .none)
      // The server's SETTINGS are there: it takes one stream.
      _ = try await first.protocolChange()
      let waiters = [loop.waiter(key), loop.waiter(key)]
      let results = Recorder<Result<any HTTPExchange, any Error>>()
      for waiter in waiters { waiter.start { results.record($0) } }
      waits.open()
      let error = await #expect(throws: TransportError.self) { _ = try await first.nextHead() }
      guard case .malformedResponse? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      first.end()
      var bodies: [String] = []
      for method in ["GET", "POST"] {
        let exchange = try await results.next().get()
        bodies.append(try await loop.load(on: exchange, key, method).body)
      }
      #expect(bodies == ["GET", "POST"])
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// An exchange that was leased before the connection broke, and whose request was not sent, says so.
  @Test func aRequestThatWasNotSentOnABrokenConnectionWasNotProcessed() async throws {
    let server = try await HTTP2Peer.start { peer in
      try await peer.greet()
      _ = try await peer.request()
      try await peer.write(HTTP2Peer.data(0, "nonsense"))
      while try await peer.connection.read() != nil {}
    }
    let key = ConnectionKey(scheme: .https, host: "127.0.0.1", port: server.port)
    try await TransportOnLoop.run(try TransportOnLoop.trusting()) { loop in
      let (first, second) = (try await loop.exchange(key), try await loop.exchange(key))
      defer {
        first.end()
        second.end()
      }
      try first.send(head: .of(key), body: .none)
      await #expect(throws: TransportError.self) { _ = try await first.nextHead() }
      let error = #expect(throws: TransportError.self) {
        try second.send(head: .of(key, "POST"), body: .length(4))
      }
      guard case .notProcessed(_, .leaving(hasServed: false))? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
