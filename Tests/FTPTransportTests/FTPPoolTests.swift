import HTTPSemantics
import HTTPTransport
import NIOCore
import Testing

@testable import FTPTransport

/// Who gets the place that a host has, when several sessions want one.
@Suite struct FTPPoolTests {
  private func withPool(
    _ limit: Int, _ body: @escaping @Sendable (FTPPool, FTPPool.Key) async throws -> Void
  ) async throws {
    let transport = HTTPTransport(configuration: TransportConfiguration())
    let executor = transport.executor(forHost: "127.0.0.1")
    let key = FTPPool.Key(
      server: ConnectionKey(scheme: .http, host: "127.0.0.1", port: 21), security: .none,
      login: try FTPResource(parsing: "ftp://127.0.0.1/").login)
    try await Task(executorPreference: executor) {
      let pool = FTPPool(maximumPerHost: limit, executor: executor)
      try await body(pool, key)
      pool.shutDown()
    }.value
    transport.shutDown()
  }

  /// Whether the session gets a place; nil where the pool is shut down. No connection is kept in these tests.
  private static func takes(_ pool: FTPPool, _ key: FTPPool.Key, as waiter: FTPPool.Waiter? = nil) -> Bool? {
    do { if case .place = try pool.take(key, toReach: [], as: waiter) { return true } else { return false } } catch {
      return nil
    }
  }

  /// A session that comes when a place has become free, before the one that was called has taken it, comes last.
  @Test func sessionsGetTheirPlacesInTheOrderOfTheirQuestions() async throws {
    try await withPool(1) { pool, key in
      #expect(Self.takes(pool, key) == true)
      let waiters = (0..<3).map { _ in pool.wait(for: key) }
      for (index, waiter) in waiters.enumerated() {
        #expect(!waiter.result.isSet)
        pool.giveBack(nil, of: key)
        #expect(waiters.map(\.result.isSet) == (0..<3).map { $0 <= index })
        #expect(Self.takes(pool, key) == false)
        #expect(Self.takes(pool, key, as: waiter) == true)
      }
      pool.giveBack(nil, of: key)
      #expect(Self.takes(pool, key) == true)
    }
  }

  /// The place of a session that was called and is given up is the next one's.
  @Test func aSessionThatGivesUpPassesItsPlaceOn() async throws {
    try await withPool(1) { pool, key in
      #expect(Self.takes(pool, key) == true)
      let (first, second) = (pool.wait(for: key), pool.wait(for: key))
      pool.giveBack(nil, of: key)
      #expect(first.result.isSet && !second.result.isSet)
      pool.giveUp(first, for: key, CancellationError())
      #expect(second.result.isSet)
      #expect(Self.takes(pool, key, as: second) == true)
    }
  }

  /// A second place that becomes free while only one session waits is found by the next one.
  @Test func aPlaceThatNoneTookIsFound() async throws {
    try await withPool(2) { pool, key in
      for _ in 0..<2 { #expect(Self.takes(pool, key) == true) }
      let first = pool.wait(for: key)
      for _ in 0..<2 { pool.giveBack(nil, of: key) }
      #expect(Self.takes(pool, key) == false)
      let second = pool.wait(for: key)
      #expect(Self.takes(pool, key, as: first) == true)
      #expect(second.result.isSet)
      #expect(Self.takes(pool, key, as: second) == true)
      // One that is called in vain keeps its place in the queue.
      let (third, fourth) = (pool.wait(for: key), pool.wait(for: key))
      third.result.succeed()
      #expect(Self.takes(pool, key, as: third) == false)
      pool.waitAgain(third)
      pool.giveBack(nil, of: key)
      #expect(third.result.isSet && !fourth.result.isSet)
    }
  }
}
