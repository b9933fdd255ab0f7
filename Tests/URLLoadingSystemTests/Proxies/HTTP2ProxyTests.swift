import Foundation
import LoopbackServer
import NIOCore
import Testing
import URLLoadingSystem

/// Proxies that speak HTTP/2 over TLS: every frame is scripted. Behind a tunnel the proxy is the server, too.
@Suite struct HTTP2ProxyTests {
  /// What the proxy was asked for: its connection, and the request's fields.
  private typealias Asked = (connection: Int, fields: [String: String])

  /// - Parameter tunnelsAll: Whether plain HTTP goes through tunnels.
  private func withProxy(
    tunnelsAll: Bool = true, protocols: [String] = ["h2", "http/1.1"], name: String? = nil,
    patience: TimeAmount? = nil, _ script: @escaping @Sendable (ServerConnection) async throws -> Void,
    _ body: (LoopbackServer, URLSession, RecordingDelegate) async throws -> Void
  ) async throws {
    var tls = try ServerTLS.localhost()
    tls.applicationProtocols = protocols
    let proxy = try await LoopbackServer.startRaw(tls: tls, script: script)
    let authority = try TestCertificates.shared().authorityFile
    try await withProxies({
      $0.trustRoots = .file(authority)
      if let patience { $0.proxyPatience = patience }
      guard tunnelsAll else {
        return $0.connectionProxyDictionary = [
          "HTTPEnable": 1, "HTTPProxy": "https://127.0.0.1", "HTTPPort": proxy.port,
        ]
      }
      let port = NWEndpoint.Port(rawValue: UInt16(proxy.port)) ?? .any
      var configured = ProxyConfiguration(
        httpCONNECTProxy: .hostPort(host: "127.0.0.1", port: port), tlsOptions: .init())
      if let name { configured.applyCredential(username: name, password: "secret") }
      $0.proxyConfigurations = [configured]
    }) { session, delegate in try await body(proxy, session, delegate) }
    try await proxy.expectNoOpenConnections()
    #expect(proxy.failures.isEmpty)
    await proxy.shutdown()
  }

  private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  /// Opens every tunnel, and answers every request in it.
  private static func serve(_ peer: HTTP2Peer, _ asked: Recorder<Asked>) async throws {
    while let frame = try await peer.read() {
      switch frame.type {
      case 0x1:
        asked.record((peer.connection.number, try peer.fields(frame)))
        try await peer.write(HTTP2Peer.headers(frame.stream, [(":status", "200")]))
      case 0x0 where frame.payload.isEmpty || frame.flags & 1 != 0:
        try await peer.write(HTTP2Peer.data(frame.stream, "", endsStream: true))
      case 0x0: try await peer.write(HTTP2Peer.data(frame.stream, Self.answer))
      default: continue
      }
    }
  }

  /// Opens a tunnel over HTTP/1.1, and answers the request in it.
  private static func carry(_ connection: ServerConnection) async throws {
    try await connection.write("HTTP/1.1 200 Connection established\r\n\r\n")
    _ = try await connection.readHead()
    try await connection.write(answer)
    while try await connection.read() != nil {}
  }

  @Test func tunnelsAreStreamsOfOneConnection() async throws {
    let asked = Recorder<Asked>()
    try await withProxy({ connection in
      let peer = HTTP2Peer(connection)
      try await peer.greet()
      try await Self.serve(peer, asked)
    }) { proxy, session, delegate in
      // Of one host, whose connections are on one event loop.
      for port in [80, 81, 80] {
        let (data, _) = try await session.data(from: url("http://one.example:\(port)/x"))
        #expect(data == Data("ok".utf8))
      }
      let transaction = try #require(try await delegate.metrics.next().transactionMetrics.last)
      #expect(transaction.isProxyConnection && transaction.networkProtocolName == "http/1.1")
      #expect(transaction.remotePort == proxy.port && transaction.remoteAddress == "127.0.0.1")
      #expect(proxy.connectionCount == 1)
    }
    // RFC 9113 §8.5: neither scheme nor path.
    #expect(
      asked.all.map(\.fields) == [80, 81].map { [":method": "CONNECT", ":authority": "one.example:\($0)"] })
  }

  /// Each CONNECT is a stream of its own, and so is the one with the credential.
  @Test func aProxyThatAsksGetsTheCredential() async throws {
    let asked = Recorder<Asked>()
    try await withProxy(
      name: "me",
      { connection in
        let peer = HTTP2Peer(connection)
        try await peer.greet()
        if connection.number == 1, let (stream, fields) = try await peer.request() {
          asked.record((1, fields))
          try await peer.write(
            HTTP2Peer.headers(
              stream, [(":status", "407"), ("proxy-authenticate", "Basic realm=x")], endsStream: true))
        }
        try await Self.serve(peer, asked)
      }
    ) { proxy, session, _ in
      for port in [80, 81] {
        let (data, _) = try await session.data(from: url("http://one.example:\(port)/x"))
        #expect(data == Data("ok".utf8))
      }
      #expect(proxy.connectionCount == 1)
    }
    #expect(asked.all.map { $0.fields["proxy-authorization"] } == [nil, "Basic bWU6c2VjcmV0", "Basic bWU6c2VjcmV0"])
  }

  /// The stream with the refused credential leaves nothing taken: the server has one at a time.
  @Test func aRefusedCredentialLeavesTheStreamToOthers() async throws {
    let asked = Recorder<Asked>()
    try await withProxy(
      name: "me",
      { connection in
        let peer = HTTP2Peer(connection)
        try await peer.greet([(3, 1)])
        for _ in 0..<2 {
          guard let (stream, _) = try await peer.request() else { return }
          try await peer.write(
            HTTP2Peer.headers(stream, [(":status", "407"), ("proxy-authenticate", "Basic realm=x")], endsStream: true))
        }
        try await Self.serve(peer, asked)
      }
    ) { proxy, session, _ in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://one.example/x")) }
      #expect(error?.code == .userAuthenticationRequired)
      let (data, _) = try await session.data(from: url("http://one.example:81/x"))
      #expect(data == Data("ok".utf8) && proxy.connectionCount == 1)
    }
  }

  /// RFC 9113 §7: it speaks HTTP/2, and opens tunnels over HTTP/1.1 alone. It is not passed by.
  @Test func aProxyThatWantsTunnelsOverHTTP1GetsThem() async throws {
    let heads = Recorder<String>()
    try await withProxy({ connection in
      guard connection.number == 1 else {
        heads.record(try await connection.readHead())
        return try await Self.carry(connection)
      }
      let peer = HTTP2Peer(connection)
      try await peer.greet()
      while let (stream, _) = try await peer.request() { try await peer.write(HTTP2Peer.reset(stream, 0xd)) }
    }) { proxy, session, _ in
      let (data, _) = try await session.data(from: url("http://one.example/x"))
      #expect(data == Data("ok".utf8) && proxy.connectionCount == 2)
    }
    #expect(heads.all.map { $0.prefix(19) } == ["CONNECT one.example"])
  }

  /// A scheme whose messages belong to one connection: the tunnel is asked for over HTTP/1.1, on one of its own.
  @Test func aProxyThatAsksByNTLMIsAskedOverHTTP1() async throws {
    let heads = Recorder<String>()
    try await withProxy(
      name: "me",
      { connection in
        guard connection.number == 1 else {
          while true {
            let head = try await connection.readHead()
            heads.record(head)
            if head.contains("NTLM ") { break }
            try await connection.write(
              "HTTP/1.1 407 Who\r\nProxy-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n")
          }
          return try await Self.carry(connection)
        }
        let peer = HTTP2Peer(connection)
        try await peer.greet()
        while let (stream, _) = try await peer.request() {
          try await peer.write(
            HTTP2Peer.headers(stream, [(":status", "407"), ("proxy-authenticate", "NTLM")], endsStream: true))
        }
      }
    ) { proxy, session, _ in
      let (data, _) = try await session.data(from: url("http://one.example/x"))
      #expect(data == Data("ok".utf8))
      #expect(proxy.connectionCount == 2)
    }
    let head = try #require(heads.all.last)
    #expect(head.hasPrefix("CONNECT one.example:80 ") && head.contains("NTLM TlRMTVNTUAAB"))
  }

  /// The answers to the CONNECT.
  static let refusals = [
    HTTP2Refusal("403", .cannotConnectToHost, [HTTP2Peer.headers(1, [(":status", "403")], endsStream: true)]),
    HTTP2Refusal(
      "502 with a body", .cannotConnectToHost,
      [HTTP2Peer.headers(1, [(":status", "502")]), HTTP2Peer.data(1, "sorry", endsStream: true)]),
    HTTP2Refusal(
      "407", .userAuthenticationRequired,
      [HTTP2Peer.headers(1, [(":status", "407"), ("proxy-authenticate", "Basic realm=x")], endsStream: true)]),
    HTTP2Refusal("CONNECT_ERROR", .networkConnectionLost, [HTTP2Peer.reset(1, 0xa)]),
    HTTP2Refusal("nonsense", .cannotParseResponse, [HTTP2Peer.data(1, "x")]),
  ]

  @Test(arguments: refusals) func refusalsOfTunnels(_ refusal: HTTP2Refusal) async throws {
    try await withProxy({ connection in
      let peer = HTTP2Peer(connection)
      try await peer.greet()
      guard try await peer.request() != nil else { return }
      try await peer.write(refusal.frames)
      while try await peer.read() != nil {}
    }) { proxy, session, _ in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("https://one.example/")) }
      #expect(error?.code == refusal.code, "\(error as Any)")
      #expect(proxy.connectionCount == 1)
    }
  }

  /// The proxy closes its side in the middle of the answer.
  @Test func aTunnelThatBreaksIsALostConnection() async throws {
    try await withProxy({ connection in
      let peer = HTTP2Peer(connection)
      try await peer.greet()
      guard let (stream, _) = try await peer.request() else { return }
      try await peer.write(HTTP2Peer.headers(stream, [(":status", "200")]))
      guard try await peer.read(type: 0) != nil else { return }
      try await peer.write([
        HTTP2Peer.data(stream, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart"), HTTP2Peer.reset(stream, 0xa),
      ])
      while try await peer.read() != nil {}
    }) { _, session, _ in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://one.example/")) }
      #expect(error?.code == .networkConnectionLost)
    }
  }

  /// The proxy takes the question and says nothing: its stream is reset, and the next tunnel is tried.
  @Test(arguments: [["h2", "http/1.1"], ["http/1.1"]])
  func aProxyThatNeverAnswersIsGivenUp(_ protocols: [String]) async throws {
    let resets = Recorder<UInt32>()
    try await withProxy(
      protocols: protocols, patience: .milliseconds(300),
      { connection in
        guard protocols.contains("h2") else {
          while try await connection.read() != nil {}
          return
        }
        let peer = HTTP2Peer(connection)
        try await peer.greet()
        while let frame = try await peer.read() {
          if frame.type == 3 { resets.record(frame.stream) }
        }
      }
    ) { proxy, session, _ in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://one.example/")) }
      #expect(error?.code == .networkConnectionLost)
      if protocols.contains("h2") {
        let stream = try await resets.next()
        #expect(stream == 1)
      }
    }
  }

  /// A request is put to the proxy: as a stream, with the parts of its URL (RFC 9113 §8.3.1).
  @Test func forwardedRequestsAreStreams() async throws {
    let asked = Recorder<Asked>()
    try await withProxy(
      tunnelsAll: false,
      { connection in
        let peer = HTTP2Peer(connection)
        try await peer.greet()
        while let (stream, fields) = try await peer.request() {
          asked.record((connection.number, fields))
          try await peer.answer(stream, fields[":path"] ?? "")
        }
      }
    ) { proxy, session, delegate in
      for (text, path) in [("http://one.example/x?y", "/x?y"), ("http://two.example:81", "/")] {
        let (data, _) = try await session.data(from: url(text))
        #expect(String(decoding: data, as: UTF8.self) == path)
      }
      let transaction = try #require(try await delegate.metrics.next().transactionMetrics.last)
      #expect(transaction.isProxyConnection && transaction.networkProtocolName == "h2")
      #expect(proxy.connectionCount == 1)
    }
    #expect(asked.all.map { $0.fields[":authority"] } == ["one.example", "two.example:81"])
    #expect(asked.all.allSatisfy { $0.fields[":scheme"] == "http" && $0.fields[":method"] == "GET" })
  }

  /// The connection that finds out that the proxy speaks HTTP/1.1 becomes the tunnel.
  @Test func aProxyOfHTTP1IsAskedOnTheConnectionThatFoundOut() async throws {
    let seen = Recorder<String>()
    try await withProxy(
      protocols: ["http/1.1"],
      { connection in
        seen.record(try await connection.readHead())
        try await Self.carry(connection)
      }
    ) { proxy, session, delegate in
      for host in ["one", "two"] {
        let (data, _) = try await session.data(from: url("http://\(host).example/x"))
        #expect(data == Data("ok".utf8))
      }
      let transaction = try #require(try await delegate.metrics.next().transactionMetrics.last)
      #expect(transaction.isProxyConnection && transaction.remotePort == proxy.port)
      #expect(proxy.connectionCount == 2)
    }
    #expect(seen.all.map { $0.prefix(19) } == ["CONNECT one.example", "CONNECT two.example"])
  }
}
