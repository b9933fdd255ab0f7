import HTTPSemantics
import NIOCore
import NIOPosix

/// Opens a tunnel in a stream of a connection of HTTP/2 to a proxy (RFC 9113 §8.5). Confined to the pool's loop.
///
/// The connection is one of the pool's, shared by the tunnels and the requests through the proxy. Where the proxy turns out
/// to speak HTTP/1.1 the connection itself becomes the tunnel.
final class TunnelOpening: @unchecked Sendable {
  enum Path {
    /// A connected socket of this machine, whose bytes a stream carries.
    case stream(descriptor: CInt, ConnectionRecord)
    /// A connection to the proxy that speaks HTTP/1.1, on which nothing was said yet.
    case connection(any Channel, ConnectionRecord)
  }

  private let pool: HTTPConnectionPool
  private var carrier: ConnectionKey
  private let hop: ProxyHop
  private let target: String
  /// The wait or the exchange that is under way.
  private var current: (any Abortable)?
  private var isGivenUp = false
  private var relay: StreamRelay?

  /// Connections that end before they have opened the tunnel.
  private static let maximumAttempts = 4
  /// Answers to one proxy that asks who is there.
  private static let maximumRequests = 3

  init(_ hop: ProxyHop, to key: ConnectionKey, over carrier: ConnectionKey, in pool: HTTPConnectionPool) {
    self.pool = pool
    self.carrier = carrier
    self.hop = hop
    target = ConnectNegotiation.target(host: key.host, port: key.port)
  }

  private var loop: any EventLoop { pool.executor.loop }

  /// Calls `completion` once, on the loop.
  func start(_ completion: @escaping (Result<Path, any Error>) -> Void) {
    loop.assertInEventLoop()
    let promise = loop.makePromise(of: Path.self)
    promise.futureResult.assumeIsolated().whenComplete { completion($0) }
    Task(executorPreference: pool.executor) {
      do { promise.succeed(try await self.open()) } catch { promise.fail(error) }
    }
  }

  /// Ends the opening, which fails.
  func giveUp() {
    loop.assertInEventLoop()
    isGivenUp = true
    current?.abort(TransportError.shutDown)
  }

  /// The connection in the tunnel is closed: what was written to it still goes out.
  func connectionEnded() {
    loop.assertInEventLoop()
    relay?.abandon()
  }

  // MARK: Connections to the proxy

  private func open() async throws -> Path {
    loop.assertInEventLoop()
    var conversation: (any TunnelConversation)?
    var refusal: HTTPResponseHead?
    var (attempts, requests) = (0, 0)
    while attempts < TunnelOpening.maximumAttempts, requests < TunnelOpening.maximumRequests {
      let exchange = try await exchange()
      if let exchange = exchange as? HTTP1Exchange {
        attempts += 1
        guard let channel = try? exchange.surrender() else {
          exchange.end()
          continue
        }
        return .connection(channel, exchange.record.connection)
      }
      current = exchange
      defer { current = nil }
      do {
        if conversation == nil, case .credential(let credential) = hop.authorization {
          conversation = credential.makeConversation()
        }
        let value = try await authorization(conversation, after: refusal)
        let head = try await connect(on: exchange, value)
        if (200..<300).contains(head.status) { return try await carry(exchange) }
        exchange.end()
        guard head.status == 407 else { throw ProxyFailure(hop.server, .status(head)) }
        guard conversation != nil else { throw ProxyFailure(hop.server, .authenticationRequired(head)) }
        refusal = head
        requests += 1
      } catch let error as TransportError {
        exchange.end()
        guard !isGivenUp else { throw TransportError.shutDown }
        switch error {
        case .notProcessed, .closedBeforeResponse: attempts += 1
        // RFC 9113 §7: the tunnel is wanted over HTTP/1.1.
        case .requiresHTTP1 where carrier.allowsHTTP2:
          carrier.allowsHTTP2 = false
          (conversation, refusal, requests) = (nil, nil, 0)
        case .malformedResponse(let reason): throw ProxyFailure(hop.server, .malformed(reason: reason))
        default: throw ProxyFailure(hop.server, .silent)
        }
      } catch {
        exchange.end()
        throw error
      }
    }
    throw ProxyFailure(hop.server, refusal.map { .authenticationRequired($0) } ?? .silent)
  }

  private func exchange() async throws -> any HTTPExchange {
    loop.assertInEventLoop()
    guard !isGivenUp else { throw TransportError.shutDown }
    if let exchange = pool.leasedExchange(for: carrier) { return exchange }
    let waiter = ConnectionWaiter(
      pool: pool, key: carrier, priority: 1, caller: pool.executor, handshake: nil, changesProtocol: false,
      assumesHTTP3: false, mayBeEarlyData: false, allowsStaleNames: false)
    current = waiter
    defer { current = nil }
    return try await waiter.exchange()
  }

  // MARK: CONNECT

  private func authorization(
    _ conversation: (any TunnelConversation)?, after refusal: HTTPResponseHead?
  ) async throws -> String? {
    loop.assertInEventLoop()
    guard let conversation else {
      if case .field(let value) = hop.authorization { return value }
      return nil
    }
    let value = await conversation.value(for: target, after: refusal)
    guard !isGivenUp else { throw TransportError.shutDown }
    if let refusal, value == nil { throw ProxyFailure(hop.server, .authenticationRequired(refusal)) }
    return value
  }

  /// The head of the proxy's answer.
  private func connect(on exchange: any HTTPExchange, _ authorization: String?) async throws -> HTTPResponseHead {
    loop.assertInEventLoop()
    var head = HTTPRequestHead(method: "CONNECT", target: target, authority: target, scheme: "https")
    if let authorization { head.fields.append("Proxy-Authorization", authorization) }
    let limit = startLimit(of: exchange)
    defer { limit.cancel() }
    // The stream stays open for what the tunnel will carry.
    try exchange.send(head: head, body: .chunked)
    while true {
      let answer = try await exchange.nextHead()
      if !answer.isInformational { return answer }
    }
  }

  private func startLimit(of exchange: any HTTPExchange) -> Scheduled<Void> {
    loop.assumeIsolated().scheduleTask(in: pool.configuration.proxyPatience) {
      exchange.abort(ProxyFailure(self.hop.server, .silent))
    }
  }

  // MARK: Bytes

  /// TLS and HTTP in the tunnel want a channel: it has one end of a pair of sockets, and the stream carries what comes out
  /// of the other.
  private func carry(_ exchange: any HTTPExchange) async throws -> Path {
    loop.assertInEventLoop()
    let record = exchange.record.connection
    let stream = try await exchange.takeOver()
    guard !isGivenUp else {
      stream.close()
      throw TransportError.shutDown
    }
    let (local, descriptor): (any DuplexStream, CInt)
    do { (local, descriptor) = try await StreamPair.open(on: pool.executor) } catch {
      stream.close()
      throw ProxyFailure(hop.server, .unreachable(reason: "\(error)"))
    }
    let relay = StreamRelay(local, stream, on: loop)
    self.relay = relay
    let executor = pool.executor
    Task(executorPreference: executor) {
      await relay.run(first: ByteBuffer(), on: executor) { _ in }
    }
    return .stream(descriptor: descriptor, record)
  }
}
