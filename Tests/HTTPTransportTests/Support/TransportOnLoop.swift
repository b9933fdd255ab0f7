import HTTPSemantics
import LoopbackServer
import NIOCore

@testable import HTTPTransport

/// A transport, used on the loop on which connections to one host live.
struct TransportOnLoop: Sendable {
  let transport: HTTPTransport
  let executor: LoopExecutor
  /// Whether the loads were given the loop as a share of their host.
  var isPlaced = true

  /// Runs `body` on the loop of `host`, and shuts the transport down.
  static func run<Value: Sendable>(
    _ configuration: TransportConfiguration = TransportConfiguration(), host: String = "127.0.0.1",
    _ body: @escaping @Sendable (TransportOnLoop) async throws -> Value
  ) async throws -> Value {
    let transport = HTTPTransport(configuration: configuration)
    defer { transport.shutDown() }
    let executor = transport.executor(forHost: host)
    return try await withTaskExecutorPreference(executor) {
      try await body(TransportOnLoop(transport: transport, executor: executor))
    }
  }

  /// A configuration that trusts the test authority.
  static func trusting() throws -> TransportConfiguration {
    var configuration = TransportConfiguration()
    configuration.trustRoots = .file(try TestCertificates.shared().authorityFile)
    return configuration
  }

  func waiter(_ key: ConnectionKey, priority: Float = 0.5) -> ConnectionWaiter {
    transport.lease(for: key, priority: priority, caller: executor, isPlaced: isPlaced)
  }

  func exchange(_ key: ConnectionKey) async throws -> any HTTPExchange { try await waiter(key).exchange() }

  /// Sends a request without a body and reads the response.
  func load(_ key: ConnectionKey, _ method: String = "GET") async throws -> (status: Int, body: String) {
    let exchange = try await exchange(key)
    return try await load(on: exchange, key, method)
  }

  func load(
    on exchange: any HTTPExchange, _ key: ConnectionKey, _ method: String = "GET"
  ) async throws -> (status: Int, body: String) {
    defer { exchange.end() }
    try exchange.send(head: .of(key, method), body: .none)
    let status = try await exchange.nextHead().status
    var body = ""
    while let bytes = try await exchange.nextChunk() { body += String(buffer: bytes) }
    return (status, body)
  }

  /// Returns when the loop has looked at its sockets after this was called.
  func socketsWereLookedAt() async { for _ in 0..<3 { await executor.turn() } }
}

extension HTTPRequestHead {
  static func of(_ key: ConnectionKey, _ method: String = "GET", _ target: String = "/") -> HTTPRequestHead {
    HTTPRequestHead(
      method: method, target: target, authority: "\(key.host):\(key.port)",
      scheme: key.scheme == .https ? "https" : "http")
  }
}

extension ServerConnection {
  /// The head of the next request; what comes behind it stays. nil when the client has closed.
  func readRequestHead() async throws -> String? {
    var input = ByteBuffer()
    while true {
      let text = String(buffer: input)
      if let end = text.firstRange(of: "\r\n\r\n") {
        let head = text[..<end.upperBound]
        unread(ByteBuffer(string: String(text[end.upperBound...])))
        return String(head)
      }
      guard var more = try await read() else { return nil }
      input.writeBuffer(&more)
    }
  }

  func answer(_ body: String, fields: String = "") async throws {
    try await write("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }
}
