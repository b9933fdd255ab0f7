import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A real TCP server on the loopback interface, on a port of the kernel's choice, of which a test scripts every byte.
///
/// ```swift
/// let server = try await LoopbackServer.start { request in .ok("hello \(request.path)") }
/// … server.url("/x") …
/// let seen = try await server.nextRequest()
/// try await server.expectNoOpenConnections()
/// await server.shutdown()
/// ```
/// A connection is served by one task on an event loop of the server's own; that task, and with it the test's handler,
/// is cancelled when the client closes the connection.
package final class LoopbackServer: Sendable {
  /// Answers a request whose body was read. Called once a request, on the connection's event loop: it may suspend, but
  /// must not block. An error it throws closes the connection and is noted in ``failures``.
  package typealias Handler = @Sendable (RecordedRequest) async throws -> Reply

  package struct Options: Sendable {
    /// Address to listen on: `127.0.0.1` or `::1`.
    package var host = "127.0.0.1"
    /// Port to listen on; 0 lets the kernel choose.
    package var port = 0
    /// The path of a Unix-domain socket to listen on instead of an address.
    package var socketPath: String?
    /// How much of request bodies is kept. Default: the first MiB.
    package var recordBodies = BodyRecording.keep(1 << 20)
    /// What to do with each connection as it is accepted, by its number (1 for the first). Default: serve it.
    package var greeting: @Sendable (Int) -> ConnectionGreeting = { _ in .serve }
    /// Asked when a request's head has come and before its body is read. nil, the default, sends 100 (Continue) to a
    /// client that expects it and reads the body.
    package var onHead: (@Sendable (RequestHead) async throws -> HeadDecision)?
    /// Whether a client may close its sending side and still get its answer. With it a client that is gone altogether
    /// is noticed only when something is sent to it. Default: false.
    package var allowsHalfClosedClients = false
    /// How many streams a client may have open at a time, where HTTP/2 is spoken.
    package var http2Streams = 100
    /// How many bytes the kernel keeps of what a client has sent and the server has not read; nil leaves it to the kernel.
    package var receiveBuffer: Int?
    /// Until this gate is open the kernel answers no connection: each client goes on knocking. The first connection that
    /// is then accepted is not a client's.
    package var accepting: Gate?
    /// Whether WebSockets may be opened in streams of HTTP/2 (RFC 8441 §3).
    package var http2ConnectProtocol = false

    package init() {}
  }

  private struct Connections: Sendable {
    var accepted = 0
    var open: [Int: ServerConnection] = [:]
    var isShutDown = false
  }

  private let listener: any Channel
  private let connections: Monitor<Connections>
  private let service: Service
  private let options: Options
  private let isSecure: Bool
  /// Where clients reach it.
  package let port: Int
  private let front: HTTP3Front?

  private init(
    listener: any Channel, connections: Monitor<Connections>, service: Service, options: Options, isSecure: Bool,
    front: (front: HTTP3Front, port: Int)?
  ) {
    self.listener = listener
    self.connections = connections
    self.service = service
    self.options = options
    self.isSecure = isSecure
    port = front?.port ?? listener.localAddress?.port ?? 0
    self.front = front?.front
  }

  deinit {
    listener.close(promise: nil)
    for connection in connections.current.open.values { connection.closeAbruptly() }
  }

  // MARK: Starting

  /// Starts a server that answers with `handler`; with `tls`, over TLS. HTTP/2 is spoken with clients that agree to it,
  /// where `tls` offers `h2`.
  package static func start(
    tls: ServerTLS? = nil, options: Options = Options(), handler: @escaping Handler
  ) async throws -> LoopbackServer {
    let service = Service(options: options, handler: handler)
    let offersHTTP2 = tls?.applicationProtocols.contains("h2") == true
    return try await start(tls: tls, service: service, offersHTTP2: offersHTTP2) { connection in
      if let front = connection.http2 {
        guard let agreed = try? await connection.handshake() else { return connection.closeAbruptly() }
        if agreed.negotiatedProtocol == "h2" { return await front.run() }
      }
      await HTTP1Conversation(connection: connection, service: service).run()
    }
  }

  /// Starts a server that speaks whatever `script` speaks (a proxy, FTP, bytes of any kind), once for each connection.
  /// The connection is closed when the script returns; an error it throws is noted in ``failures``.
  package static func startRaw(
    tls: ServerTLS? = nil, options: Options = Options(),
    script: @escaping @Sendable (ServerConnection) async throws -> Void
  ) async throws -> LoopbackServer {
    let service = Service(options: options) { _ in .status(500) }
    return try await start(tls: tls, service: service) { connection in
      do {
        try await script(connection)
        await connection.closeGracefully()
      } catch {
        if !Task.isCancelled { service.failed(.handlerThrew(error), on: connection) }
        connection.closeAbruptly()
      }
    }
  }

  private static func start(
    tls: ServerTLS?, service: Service, offersHTTP2: Bool = false,
    serve: @escaping @Sendable (ServerConnection) async -> Void
  ) async throws -> LoopbackServer {
    let options = service.options
    let context = try tls?.makeContext()
    let connections = Monitor(Connections())
    var bootstrap = ServerBootstrap(group: ServerLoops.group)
      .serverChannelOption(.backlog, value: Int32(options.accepting == nil ? 1024 : 0))
      .serverChannelOption(.autoRead, value: options.accepting == nil)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.allowRemoteHalfClosure, value: options.allowsHalfClosedClients)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try accept(
            channel, into: connections, context: context, service: service, offersHTTP2: offersHTTP2, serve: serve)
        }
      }
    if let size = options.receiveBuffer {
      bootstrap = bootstrap.serverChannelOption(
        ChannelOptions.socketOption(.so_rcvbuf), value: SocketOptionValue(size))
    }
    let listener: any Channel
    if let path = options.socketPath {
      listener = try await bootstrap.bind(unixDomainSocketPath: path).get()
    } else {
      listener = try await bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .bind(host: options.host, port: options.port).get()
    }
    if let gate = options.accepting { try await accept(on: listener, after: gate) }
    var front: (HTTP3Front, Int)?
    if tls?.isBehindHTTP3 == true, let port = listener.localAddress?.port {
      let shared = try HTTP3Front.shared.get()
      front = (shared, try await shared.open(port))
    }
    return LoopbackServer(
      listener: listener, connections: connections, service: service, options: options, isSecure: tls != nil,
      front: front)
  }

  /// A queue of connections that has room for none holds one all the same: with that one in it, it is full.
  private static func accept(on listener: any Channel, after gate: Gate) async throws {
    guard let address = listener.localAddress else { return }
    let filler = try await ClientBootstrap(group: ServerLoops.group).connect(to: address).get()
    Task {
      try? await gate.wait()
      try? await filler.close().get()
      try? await listener.setOption(.autoRead, value: true).get()
    }
  }

  private static func accept(
    _ channel: any Channel, into connections: Monitor<Connections>, context: NIOSSLContext?, service: Service,
    offersHTTP2: Bool, serve: @escaping @Sendable (ServerConnection) async -> Void
  ) throws {
    let number = connections.update { connections -> Int in
      connections.accepted += 1
      return connections.accepted
    }
    let greeting = service.options.greeting(number)
    let edge = SocketEdge(greeting: greeting)
    let connection = ServerConnection(number: number, channel: channel, edge: edge) { error in
      service.failures.record(ServerFailure(connection: number, reason: .connectionFailed(error)))
    }
    if offersHTTP2 { connection.offerHTTP2(service) }
    let isShutDown = connections.update { connections -> Bool in
      connections.open[number] = connection
      return connections.isShutDown
    }
    channel.closeFuture.whenComplete { _ in connections.update { _ = $0.open.removeValue(forKey: number) } }
    if isShutDown { throw ChannelError.ioOnClosedChannel }
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(edge)
    guard case .serve = greeting else { return }
    if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
    try pipeline.addHandler(InboxHandler(connection: connection))
    connection.start(serve)
  }

  // MARK: Where it is

  /// The URL of `target` (path and query, beginning with `/`) on this server.
  /// - Parameter host: The host to name in it instead of the address listened on, such as `localhost`.
  package func url(_ target: String = "/", host: String? = nil) -> URL {
    let host = host ?? (options.host.contains(":") ? "[\(options.host)]" : options.host)
    guard let url = URL(string: "\(isSecure ? "https" : "http")://\(host):\(port)\(target)") else {
      preconditionFailure("\(target) makes no URL")
    }
    return url
  }

  // MARK: What it saw

  /// Every request so far, in the order in which their heads came. A request is recorded when its body is complete, before
  /// the handler is asked; one that was answered at its head, when the answer has read what it reads of the body; one whose
  /// client left, then, which may be after the record of a later one.
  package var requests: [RecordedRequest] { service.requests.all.sorted { $0.arrival < $1.arrival } }

  /// The request that was recorded first of those not yet returned by this; waits for it.
  package func nextRequest(within limit: Duration = patience) async throws -> RecordedRequest {
    try await service.requests.next(within: limit)
  }

  /// Every request head so far, recorded as soon as it was read.
  package var heads: [RequestHead] { service.heads.all }

  /// The oldest request head not yet returned by this; waits for it.
  package func nextHead(within limit: Duration = patience) async throws -> RequestHead {
    try await service.heads.next(within: limit)
  }

  /// What went wrong on connections without a script asking for it. A client that goes away is not in here.
  package var failures: [ServerFailure] { service.failures.all }

  /// The oldest failure not yet returned by this; waits for it.
  package func nextFailure(within limit: Duration = patience) async throws -> ServerFailure {
    try await service.failures.next(within: limit)
  }

  /// How many connections were ever accepted.
  package var connectionCount: Int { connections.current.accepted }

  /// How many connections are open now.
  package var openConnections: Int { connections.current.open.count }

  /// Returns when exactly `count` connections are open; throws ``WaitExpired`` after `limit`.
  package func waitForOpenConnections(_ count: Int, within limit: Duration = patience) async throws {
    try await LoopbackServer.wait(connections, "\(count) open connections on port \(port)", limit) {
      $0.open.count == count
    }
  }

  /// Returns when `count` connections have been accepted in all; throws ``WaitExpired`` after `limit`.
  package func waitForConnectionCount(_ count: Int, within limit: Duration = patience) async throws {
    try await LoopbackServer.wait(connections, "\(count) accepted connections on port \(port)", limit) {
      $0.accepted >= count
    }
  }

  private static func wait(
    _ connections: Monitor<Connections>, _ what: String, _ limit: Duration,
    until condition: @escaping @Sendable (Connections) -> Bool
  ) async throws {
    try await within(limit, what) {
      _ = try await connections.wait { condition($0) ? true : nil }
    }
  }

  // MARK: Ending

  /// Stops listening, so that new connections are refused; open ones go on.
  package func stopListening() async {
    if let front, let port = listener.localAddress?.port { front.close(port) }
    try? await listener.close().get()
  }

  /// Closes every open connection without a goodbye; goes on listening.
  package func dropConnections() async {
    for connection in connections.current.open.values { await connection.abandon() }
  }

  /// Stops listening, closes every connection, and returns when no script runs any more.
  package func shutdown() async {
    await stopListening()
    connections.update { $0.isShutDown = true }
    await dropConnections()
    _ = try? await connections.wait { $0.open.isEmpty ? true : nil }
  }
}
