import Foundation
import HTTPTransport
import LoopbackServer
import SystemServices
import Testing

@testable import URLLoadingSystem

/// Requests to several origins over one connection of HTTP/2 (RFC 9113 §9.1.1).
@Suite struct CoalescingTests {
  private static let threads = BlockingLanes(limit: 4)

  /// Names under loopback.example lead to this machine: to 127.0.0.1, and those that begin with "far" to 127.0.0.2.
  private static let names = NameLookups(on: threads) { question in
    guard question.family == .v4 else { return .failure(NameFailure(reason: "no such name", isAbsence: true)) }
    return .success([NetworkAddress([127, 0, 0, question.host.hasPrefix("far") ? 2 : 1])])
  }

  private static func host(_ name: String) -> String { "\(name).loopback.example" }

  private static func tls(_ protocols: [String] = ["h2", "http/1.1"]) throws -> ServerTLS {
    var tls = ServerTLS(try TestCertificates.shared().wildcard)
    tls.applicationProtocols = protocols
    return tls
  }

  private func get(
    _ session: URLSession, _ server: LoopbackServer, _ name: String, method: String = "GET"
  ) async throws -> String {
    var request = URLRequest(url: server.url("/\(name)", host: Self.host(name)))
    request.httpMethod = method
    if method == "POST" { request.httpBody = Data("body".utf8) }
    return String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  /// A server that answers with the host that was asked for.
  private func withServer(
    _ tls: ServerTLS, _ body: (LoopbackServer, URLSession) async throws -> Void,
    configure: (URLSessionConfiguration) -> Void = { _ in }
  ) async throws {
    let server = try await LoopbackServer.start(tls: tls) { .ok($0.head.value("host") ?? "") }
    try await server.withSession(
      configure: {
        $0.names = Self.names
        configure($0)
      }, body)
  }

  private func withPeer(
    _ script: @escaping @Sendable (HTTP2Peer) async throws -> Void,
    _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    let server = try await LoopbackServer.startRaw(tls: Self.tls(["h2"])) { try await script(HTTP2Peer($0)) }
    try await server.withSession(configure: { $0.names = Self.names }, body)
  }

  /// The hosts are on different event loops, too.
  @Test func originsOfOneServerShareAConnection() async throws {
    try await withServer(Self.tls()) { server, session in
      let names = ["a", "b", "c", "d", "e", "f", "g", "h"]
      for name in names + names {
        let answer = try await get(session, server, name)
        #expect(answer == "\(Self.host(name)):\(server.port)")
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for name in names { group.addTask { _ = try await get(session, server, name, method: "POST") } }
        try await group.waitForAll()
      }
      #expect(server.connectionCount == 1)
    }
  }

  /// The connection is gone: each origin makes its own again, or shares that of the first that did.
  @Test func aSharedConnectionThatEndsIsReplaced() async throws {
    try await withServer(Self.tls()) { server, session in
      for name in ["a", "b"] { _ = try await get(session, server, name) }
      await server.dropConnections()
      try await server.waitForOpenConnections(0)
      for name in ["b", "a"] {
        let answer = try await get(session, server, name)
        #expect(answer == "\(Self.host(name)):\(server.port)")
      }
      #expect(server.connectionCount == 2)
    }
  }

  @Test func aServerOfHTTP1GetsAConnectionForEachOrigin() async throws {
    try await withServer(Self.tls(["http/1.1"])) { server, session in
      for name in ["a", "b"] { _ = try await get(session, server, name) }
      #expect(server.connectionCount == 2)
    }
  }

  /// It may get another answer for another host.
  @Test func aServerThatAsksWhoTheClientIsGetsAConnectionForEachOrigin() async throws {
    var tls = try Self.tls()
    tls.clientCertificates = .requested
    try await withServer(tls) { server, session in
      for name in ["a", "b"] { _ = try await get(session, server, name) }
      #expect(server.connectionCount == 2)
    }
  }

  @Test func aNameThatLeadsElsewhereGetsItsOwnConnection() async throws {
    var options = LoopbackServer.Options()
    try await withServer(Self.tls()) { server, session in
      options.host = "127.0.0.2"
      options.port = server.port
      let other = try await LoopbackServer.start(tls: Self.tls(), options: options) { _ in .ok("other") }
      _ = try await get(session, server, "a")
      for _ in 0..<2 {
        let answer = try await get(session, server, "far")
        #expect(answer == "other")
      }
      #expect(server.connectionCount == 1 && other.connectionCount == 1)
      session.invalidateAndCancel()
      try await other.expectNoOpenConnections()
      await other.shutdown()
    }
  }

  private final class Judge: NSObject, URLSessionDelegate {
    let hosts = Recorder<String>()

    func urlSession(
      _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      hosts.record(challenge.protectionSpace.host)
      completionHandler(.performDefaultHandling, nil)
    }
  }

  /// An app that judges servers is asked about each host, with a connection of its own.
  @Test func aDelegateIsAskedAboutEachHost() async throws {
    let server = try await LoopbackServer.start(tls: Self.tls()) { .ok($0.path) }
    let configuration = URLSessionConfiguration.loopback
    configuration.names = Self.names
    let judge = Judge()
    let session = URLSession(configuration: configuration, delegate: judge, delegateQueue: nil)
    for name in ["a", "b"] { _ = try await get(session, server, name) }
    #expect(judge.hosts.all == [Self.host("a"), Self.host("b")] && server.connectionCount == 2)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  // MARK: What the server says

  /// RFC 9110 §15.5.20: the request is repeated on a connection of its own origin, and later ones go there at once.
  @Test(arguments: ["GET", "POST"])
  func aMisdirectedRequestIsRepeatedOnItsOwnConnection(_ method: String) async throws {
    let asked = Recorder<String>()
    try await withPeer({ peer in
      try await peer.greet()
      while let (stream, fields) = try await peer.request() {
        let path = fields[":path"] ?? ""
        asked.record("\(peer.connection.number)\(path)")
        guard peer.connection.number == 1, path == "/b" else {
          try await peer.answer(stream, path)
          continue
        }
        try await peer.write(HTTP2Peer.headers(stream, [(":status", "421")], endsStream: true))
      }
    }) { server, session in
      _ = try await get(session, server, "a")
      for _ in 0..<2 {
        let answer = try await get(session, server, "b", method: method)
        #expect(answer == "/b")
      }
      let other = try await get(session, server, "c", method: method)
      #expect(other == "/c")
      #expect(Array(asked.all.prefix(4)) == ["1/a", "1/b", "2/b", "2/b"])
      #expect(server.connectionCount == 2)
    }
  }

  /// RFC 8336 §2.4: a server that lists its origins serves those alone.
  @Test func aServersListOfOriginsIsObeyed() async throws {
    let asked = Recorder<String>()
    try await withPeer({ peer in
      try await peer.greet()
      if peer.connection.number == 1, let (stream, fields) = try await peer.request() {
        asked.record("1/a")
        let port = (fields[":authority"] ?? "").split(separator: ":").last ?? ""
        try await peer.write(HTTP2Peer.origins(["https://\(Self.host("c")):\(port)"]))
        try await peer.answer(stream, "/a")
      }
      while let (stream, fields) = try await peer.request() {
        let path = fields[":path"] ?? ""
        asked.record("\(peer.connection.number)\(path)")
        if path == "/b" { try await peer.write(HTTP2Peer.origins([])) }
        try await peer.answer(stream, path)
      }
    }) { server, session in
      for name in ["a", "c", "b", "a", "c"] { _ = try await get(session, server, name) }
      // The second server lists no origin but its own.
      #expect(asked.all == ["1/a", "1/c", "2/b", "1/a", "1/c"])
      #expect(server.connectionCount == 2)
    }
  }
}
