import Foundation
import HTTPTransport
import LoopbackServer
import NIOCore
import NIOPosix
import RealServers
import Synchronization
import Testing
import URLLoadingSystem

/// Sessions and requests of the tests of HTTP/3.
enum HTTP3Support {
  /// Whether this build speaks HTTP/3, or has to (in continuous integration).
  static var runsHere: Bool {
    TransportConfiguration.isBuiltWithHTTP3 || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty
  }

  /// Whether there are networks of a test's own, or have to be.
  static var runsInNamespaces: Bool {
    guard runsHere else { return false }
    return Namespaces.obstacleToCables == nil || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty
  }

  static let advice = "HTTP/3 is not in this build (HTTP3=1), or its servers are missing: Scripts/bootstrap test"

  /// A request that tries HTTP/3 at once.
  static func request(_ url: URL) -> URLRequest {
    var request = URLRequest(url: url)
    request.assumesHTTP3Capable = true
    return request
  }

  /// Runs `body` with a session that trusts an authority, and then proves that the session leaves nothing open. On a busy
  /// machine a handshake takes long: TCP is not tried meanwhile, unless `headStart` says so.
  static func withSession(
    trusting authority: String?, ports: [Int], headStart: TimeAmount = .seconds(60),
    configure: (URLSessionConfiguration) -> Void = { _ in }, delegate: TransactionLog = TransactionLog(),
    _ body: (URLSession, TransactionLog) async throws -> Void, finally: () async -> Void
  ) async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.http3HeadStart = headStart
    if let authority { configuration.trustRoots = .file(authority) }
    configure(configuration)
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    var failure: (any Error)?
    do { try await body(session, delegate) } catch { failure = error }
    session.invalidateAndCancel()
    do {
      try await delegate.invalidated.wait(within: patience)
      try await eventually("the sockets to the server to close") { try openSockets(to: ports) == 0 }
    } catch { failure = failure ?? error }
    await finally()
    if let failure { throw failure }
  }

  /// The UDP sockets on this machine that are connected to one of the ports.
  private static func openSockets(to ports: [Int]) throws -> Int {
    let endings = Set(ports.map { ":" + String(format: "%04X", $0) })
    return try ["/proc/net/udp", "/proc/net/udp6"].reduce(0) { count, path in
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst()
      return count
        + lines.count { line in
          let columns = line.split(separator: " ")
          return columns.count > 2 && endings.contains(String(columns[2].suffix(5)))
        }
    }
  }
}

/// What happened to the tasks of a session.
/// Sendable by hand: subclasses add what is constant.
class TransactionLog: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  private let transactions = Mutex<[URLSessionTaskTransactionMetrics]>([])
  let invalidated = Gate()

  var all: [URLSessionTaskTransactionMetrics] { transactions.withLock { $0 } }
  var protocols: Set<String> { Set(all.compactMap(\.networkProtocolName)) }

  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
    transactions.withLock { $0 += metrics.transactionMetrics }
  }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { invalidated.open() }

  /// Subclasses answer otherwise. What the protocol gives by default would not be theirs to replace.
  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) { completionHandler(.performDefaultHandling, nil) }
}

/// A UDP socket that takes datagrams and answers none.
final class SilentSocket: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private let count = Mutex(0)
  private let channel: any Channel

  private init(channel: any Channel) { self.channel = channel }

  var received: Int { count.withLock { $0 } }

  static func open(port: Int) async throws -> SilentSocket {
    let channel = try await DatagramBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .bind(host: "127.0.0.1", port: port).get()
    let socket = SilentSocket(channel: channel)
    try await channel.pipeline.addHandler(socket).get()
    return socket
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { count.withLock { $0 += 1 } }

  func close() async { try? await channel.close().get() }
}
