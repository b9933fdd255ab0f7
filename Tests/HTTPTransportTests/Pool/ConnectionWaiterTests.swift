import HTTPSemantics
import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct ConnectionWaiterTests {
  private func key(_ port: Int) -> ConnectionKey { ConnectionKey(scheme: .http, host: "127.0.0.1", port: port) }

  /// Thousands of connections that fail before the call returns, as without a route or a free descriptor: each wait ends
  /// with its error, and the stack does not grow with their number.
  @Test func thousandsOfAttemptsThatFailAtOnceEndTheirWaits() async throws {
    let failures = try await TransportOnLoop.run(host: "255.255.255.255") { loop in
      // TCP does not connect to the broadcast address: the kernel says so at once.
      let key = ConnectionKey(scheme: .http, host: "255.255.255.255", port: 9)
      let results = Recorder<Bool>()
      for _ in 0..<3_000 {
        loop.waiter(key).start { result in
          if case .failure = result { results.record(true) } else { results.record(false) }
        }
      }
      return try await results.first(3_000)
    }
    #expect(failures.allSatisfy { $0 })
  }

  @Test func anAbortedWaitEndsOnceWithItsErrorAndLeavesTheQueue() async throws {
    struct Aborted: Error {}
    let server = try await LoopbackServer.start { _ in .ok("ok") }
    let key = key(server.port)
    var configuration = TransportConfiguration()
    configuration.maximumConnectionsPerHost = 1
    try await TransportOnLoop.run(configuration) { loop in
      let first = try await loop.exchange(key)
      let results = Recorder<Bool>()
      let (aborted, other) = (loop.waiter(key), loop.waiter(key))
      aborted.start { result in
        if case .failure(is Aborted) = result { results.record(true) } else { results.record(false) }
      }
      let served = Recorder<any HTTPExchange>()
      other.start { result in if case .success(let exchange) = result { served.record(exchange) } }
      aborted.abort(Aborted())
      aborted.abort(Aborted())
      #expect(results.all == [true] && aborted.unfinished == nil)
      _ = try await loop.load(on: first, key)
      let body = try await loop.load(on: try await served.next(), key).body
      #expect(body == "ok" && results.all == [true])
      let late = loop.waiter(key)
      late.abort(Aborted())
      await #expect(throws: Aborted.self) { _ = try await late.exchange() }
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A caller on another loop gets its completion there.
  @Test func aCallerOnAnotherLoopIsServedOnItsOwn() async throws {
    let server = try await LoopbackServer.start { _ in .ok("ok") }
    let key = key(server.port)
    let transport = HTTPTransport(configuration: TransportConfiguration())
    let home = transport.executor(forHost: key.host)
    guard let other = LoopExecutor.all.first(where: { $0 !== home }) else { return }
    let loop = TransportOnLoop(transport: transport, executor: other)
    let body = try await withTaskExecutorPreference(other) {
      let completedAtHome = Recorder<Bool>()
      let served = Recorder<any HTTPExchange>()
      loop.waiter(key).start { result in
        completedAtHome.record(other.loop.inEventLoop)
        if case .success(let exchange) = result { served.record(exchange) }
      }
      let body = try await loop.load(on: try await served.next(), key).body
      #expect(completedAtHome.all == [true])
      return body
    }
    #expect(body == "ok")
    transport.shutDown()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// Of one conversation all requests go to one connection, also while others want it.
  @Test func aReservedConnectionServesOneConversation() async throws {
    let server = try await LoopbackServer.start { .ok("\($0.connection)") }
    let key = key(server.port)
    var user = key
    user.identity = .authenticatedUser("user")
    let userKey = user
    try await TransportOnLoop.run { loop in
      let first = try await loop.exchange(key)
      let reservation = try #require(await first.reserveConnection())
      let one = try await loop.load(on: first, key).body
      let other = try await loop.load(key).body
      let exchanges = Recorder<(any HTTPExchange)?>()
      reservation.exchange(for: loop.executor) { exchanges.record($0) }
      let second = try #require(try await exchanges.next())
      let two = try await loop.load(on: second, key).body
      reservation.release(as: .authenticatedUser("user"))
      let asUser = try await loop.load(userKey).body
      let anonymous = try await loop.load(key).body
      #expect([one, other, two, asUser, anonymous] == ["1", "2", "1", "1", "2"])
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
