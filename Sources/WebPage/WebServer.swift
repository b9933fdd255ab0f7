#if Web
import Foundation
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// Serves the web page on the loopback addresses.
package struct WebServer: Sendable {
  private let source: any WebPageSource
  private let metricsToken: String?

  /// How many free ports are tried: a port that is free on the one address may be taken on the other.
  private static let maximumPorts = 32

  /// - Parameter metricsToken: The secret with which a program reads `/metrics`.
  package init(source: any WebPageSource, metricsToken: String?) {
    self.source = source
    self.metricsToken = metricsToken
  }

  /// Serves until the task is cancelled.
  ///
  /// - Parameters:
  ///   - port: 0 for any that is free.
  ///   - isServing: Gets the link that opens the page, once requests are answered.
  /// - Throws: `WebAddressInUse` when another program has the port on one of the addresses, or another error when the server
  ///   can't listen.
  package func run(port: Int, isServing: @escaping @Sendable (_ link: String) -> Void) async throws {
    for _ in 1..<(port == 0 ? WebServer.maximumPorts : 1) {
      do { return try await serve(port: port, isServing) } catch is WebAddressInUse {}
    }
    try await serve(port: port, isServing)
  }

  /// On all loopback addresses or on none: a program of another user that listens on one of them would get what a browser
  /// sends to `localhost`.
  private func serve(port: Int, _ isServing: @escaping @Sendable (_ link: String) -> Void) async throws {
    let connections = WebConnections()
    let secrets = WebAccess.Secrets(
      link: WebServer.secret(bits: 256), path: WebServer.secret(bits: 128), session: WebServer.secret(bits: 256))
    let responder = ResponderCell()
    try await withThrowingTaskGroup(of: Void.self) { group in
      let bound = try await WebServer.listen("127.0.0.1", port: port, responder, connections, in: &group)
      responder.set(
        WebResponder(
          source: source, access: WebAccess(port: bound, secrets: secrets, metricsToken: metricsToken),
          connections: connections))
      do {
        _ = try await WebServer.listen("::1", port: bound, responder, connections, in: &group)
      } catch let error as IOError where WebServer.noIPv6.contains(error.errnoCode) {
        // No other program can listen there either.
      }
      isServing("http://127.0.0.1:\(bound)/?token=\(secrets.link)")
      try await group.waitForAll()
    }
  }

  private static let noIPv6 = [EADDRNOTAVAIL, EAFNOSUPPORT, EPROTONOSUPPORT]

  /// Returns the port once the server listens; it then serves in the group.
  private static func listen(
    _ address: String, port: Int, _ responder: ResponderCell, _ connections: WebConnections,
    in group: inout ThrowingTaskGroup<Void, any Error>
  ) async throws -> Int {
    let (ports, feed) = AsyncThrowingStream.makeStream(of: Int.self)
    group.addTask {
      do {
        try await serve(address, port: port, responder, connections) { feed.yield($0) }
        feed.finish()
      } catch let error as IOError where error.errnoCode == EADDRINUSE {
        feed.finish(throwing: WebAddressInUse(address: address, port: port))
      } catch {
        feed.finish(throwing: error)
      }
    }
    for try await bound in ports { return bound }
    throw CancellationError()
  }

  private static func serve(
    _ address: String, port: Int, _ responder: ResponderCell, _ connections: WebConnections,
    isBound: @escaping @Sendable (Int) -> Void
  ) async throws {
    var log = Logger(label: "urlsession-web", factory: { StreamLogHandler.standardError(label: $0) })
    log.logLevel = .critical
    let application = Application(
      responder: responder,
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: [WebConnectionHandler(connections)],
          // Browsers send the cookies of all other servers of this machine along.
          httpDecoderConfiguration: .init(
            maxHeaderFieldSize: 32 << 10, maxHeaderListSize: 48 << 10, maxHeaderFieldCount: 100))),
      configuration: ApplicationConfiguration(address: .hostname(address, port: port)),
      onServerRunning: { channel in if let port = channel.localAddress?.port { isBound(port) } }, logger: log)
    try await application.run()
  }

  /// Bits at random, as text that needs no escaping in a URL.
  private static func secret(bits: Int) -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<bits / 64).map { _ in
      let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}

/// The responder is made once the port is known, which is after the server began.
private final class ResponderCell: HTTPResponder {
  typealias Context = WebRequestContext

  private let responder = Mutex<WebResponder?>(nil)

  func set(_ responder: WebResponder) { self.responder.withLock { $0 = responder } }

  func respond(to request: Request, context: WebRequestContext) async throws -> Response {
    guard let responder = responder.withLock({ $0 }) else { throw HTTPError(.serviceUnavailable) }
    return try await responder.respond(to: request, context: context)
  }
}
#endif

/// Another program listens where the page was to be served.
package struct WebAddressInUse: Error, Sendable, Equatable {
  package let address: String
  package let port: Int

  package init(address: String, port: Int) {
    self.address = address
    self.port = port
  }
}
