import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// SOCKS 5 proxies that want a user name and a password (RFC 1929). They have no challenge: the app is asked when one
/// refuses the methods, or the password.
@Suite struct SOCKSAuthenticationTests {
  private struct Login: Sendable, Equatable {
    let user: String
    let password: String
  }

  private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

  /// Lets in one user; says what it was told.
  private static func proxy(_ seen: Recorder<Login>, letsIn login: Login?) async throws -> LoopbackServer {
    try await LoopbackServer.startRaw { connection in
      let count = Int(try await connection.read(exactly: 2)?.last ?? 0)
      let methods = try await connection.read(exactly: count) ?? []
      guard methods.contains(2) else { return try await connection.write([5, 0xFF]) }
      try await connection.write([5, 2])
      func text() async throws -> String {
        let length = Int(try await connection.read(exactly: 1)?.first ?? 0)
        return String(decoding: try await connection.read(exactly: length) ?? [], as: UTF8.self)
      }
      guard try await connection.read(exactly: 1) != nil else { return }
      let shown = Login(user: try await text(), password: try await text())
      seen.record(shown)
      guard shown == login else { return try await connection.write([1, 1]) }
      try await connection.write([1, 0])
      let name = Int(try await connection.read(exactly: 5)?.last ?? 0)
      _ = try await connection.read(exactly: name + 2)
      try await connection.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
      _ = try await connection.readHead()
      try await connection.write(answer)
    }
  }

  @Test func aPasswordIsKeptOnlyAfterSuccess() async throws {
    let (seen, stored) = (Recorder<Login>(), Recorder<Int>())
    let proxy = try await Self.proxy(seen, letsIn: Login(user: "ann", password: "p:ä"))
    let storage = URLCredentialStorage()
    let delegate = CredentialDelegate { challenge in
      stored.record(storage.allCredentials.count)
      let password = challenge.previousFailureCount == 0 ? "wrong" : "p:ä"
      return (.useCredential, URLCredential(user: "ann", password: password, persistence: .forSession))
    }
    let session = URLSession.answering(delegate) {
      $0.connectionProxyDictionary = proxyDictionary(socks: proxy.port)
      $0.urlCredentialStorage = storage
    }
    try await expectText("ok", session.data(from: url("http://one.example/")))
    #expect(delegate.asked.all.map(\.previousFailureCount) == [0, 1])
    // A password that the proxy had refused, or had not seen yet, was in no storage.
    #expect(stored.all == [0, 0])
    let space = try #require(delegate.asked.all.last).protectionSpace
    #expect(space.proxyType == NSURLProtectionSpaceSOCKSProxy && space.isProxy())
    #expect(storage.defaultCredential(for: space)?.password == "p:ä")
    // The next connection says it at once.
    try await expectText("ok", session.data(from: url("http://two.example/")))
    #expect(seen.all.map(\.password) == ["wrong", "p:ä", "p:ä"] && delegate.asked.all.count == 2)
    session.invalidateAndCancel()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  @Test func aProxyThatRefusesEveryPasswordIsAnsweredABoundedNumberOfTimes() async throws {
    let seen = Recorder<Login>()
    let proxy = try await Self.proxy(seen, letsIn: nil)
    let delegate = CredentialDelegate.user("ann", "wrong")
    let session = URLSession.answering(delegate) {
      $0.connectionProxyDictionary = proxyDictionary(socks: proxy.port)
    }
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://one.example/")) }
    #expect(error?.code == .userAuthenticationRequired)
    #expect((1...9).contains(seen.all.count))
    #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
    session.invalidateAndCancel()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  /// RFC 1929 §2 has one byte for the length of each, and no name without a character.
  @Test(arguments: [("", "p"), (String(repeating: "u", count: 256), "p"), ("ann", String(repeating: "p", count: 256))])
  func aLoginThatDoesNotFitIsNotSent(user: String, password: String) async throws {
    let seen = Recorder<Login>()
    let proxy = try await Self.proxy(seen, letsIn: nil)
    let session = URLSession.answering(.user(user, password)) {
      $0.connectionProxyDictionary = proxyDictionary(socks: proxy.port)
    }
    await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://one.example/")) }
    #expect(seen.all.isEmpty)
    #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
    session.invalidateAndCancel()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }
}
