import HTTPSemantics
import LoopbackServer
import NIOCore
import SystemServices
import Testing

@testable import HTTPTransport

/// The name in the client's hello (SNI), by which servers choose their certificate.
@Suite struct ServerNameTests {
  enum Way: CaseIterable, Sendable { case http1, http2, stream, startTLS, tunnel }

  struct Host: Sendable {
    let host: String
    let name: String?
  }

  @Test(
    arguments: Way.allCases,
    [
      Host(host: "localhost", name: "localhost"), Host(host: "localhost.", name: "localhost"),
      Host(host: "127.0.0.1", name: nil),
    ])
  func theServerIsToldItsNameAndNoAddress(way: Way, host: Host) async throws {
    var tls = try ServerTLS.localhost()
    tls.applicationProtocols = way == .http2 ? ["h2"] : ["http/1.1"]
    let names = Recorder<String?>()
    tls.serverNames = names
    let server = try await start(way, tls)
    var configuration = try TransportOnLoop.trusting()
    // Every name is this machine.
    configuration.names = NameLookups(on: BlockingLanes(limit: 4)) { _ in .success([NetworkAddress([127, 0, 0, 1])]) }
    let port = server.port
    try await TransportOnLoop.run(configuration, host: host.host) { loop in
      try await connect(way, ConnectionKey(scheme: .https, host: host.host, port: port), loop)
    }
    let told = try await names.next()
    #expect(told == host.name)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  private func start(_ way: Way, _ tls: ServerTLS) async throws -> LoopbackServer {
    switch way {
    case .http1, .http2: try await LoopbackServer.start(tls: tls) { _ in .ok("ok") }
    case .stream:
      try await LoopbackServer.startRaw(tls: tls) { connection in while try await connection.read() != nil {} }
    case .startTLS, .tunnel:
      try await LoopbackServer.startRaw { connection in
        guard try await connection.readRequestHead() != nil else { return }
        try await connection.startTLS(tls, announcing: "HTTP/1.1 200 OK\r\n\r\n")
        while try await connection.readRequestHead() != nil { try await connection.answer("ok") }
      }
    }
  }

  private func connect(_ way: Way, _ key: ConnectionKey, _ loop: TransportOnLoop) async throws {
    var key = key
    switch way {
    case .http1, .http2: _ = try await loop.load(key)
    case .stream: try await loop.transport.connect(to: key, on: loop.executor).stream().close()
    case .tunnel:
      let proxy = try #require(ProxyServer(url: "http://127.0.0.1:\(key.port)"))
      key.proxy = ProxyHop(proxy, use: .tunnel)
      _ = try await loop.load(key)
    case .startTLS:
      key.scheme = .http
      let stream = try await loop.transport.connect(to: key, on: loop.executor).stream()
      try await stream.write(ByteBuffer(string: "STARTTLS\r\n\r\n"))
      _ = try await stream.read()
      let terms = TLSTerms(host: key.host, port: key.port, handshake: nil, transport: loop.transport)
      try await stream.startTLS(terms)
      stream.close()
    }
  }
}
