import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL

/// The TLS settings of a session's connections.
///
/// A connection with a `HandshakeClient` has a context of its own until its handshake is complete, and reads no store of
/// certificate authorities, since the client judges the server: `AttendedContext`. A
/// connection without one is judged by the library, with the session's store, which takes milliseconds and memory to read
/// and is read before the first such connection is made: `prepareUnattended`.
final class TLSContexts: Sendable {
  private let configuration: TransportConfiguration
  let sessions = TLSSessionCache()
  #if HTTP3
  let tickets = QUICTicketCache()
  #endif
  /// Contexts of handshakes that are complete: one takes longer to make than much else of a handshake.
  private let spare = NIOLockedValueBox<[AttendedContext]>([])
  private static let mostSpare = 32
  /// By whether HTTP/2 is offered.
  private let unattended = NIOLockedValueBox<[Bool: NIOSSLContext]>([:])
  /// The readings that are under way, by the same.
  private let readings = NIOLockedValueBox<[Bool: EventLoopFuture<Void>]>([:])

  init(configuration: TransportConfiguration) { self.configuration = configuration }

  /// Every next handshake is a full one.
  func forgetSessions() {
    sessions.removeAll()
    #if HTTP3
    tickets.removeAll()
    #endif
  }

  /// The context for a handshake of `attempt`, and what its end is told; nil for one that the library judges.
  func context(for attempt: ConnectionAttempt) throws -> (NIOSSLContext, AttendedContext?) {
    guard let client = attempt.client else { return (try unattendedContext(attempt.key.allowsHTTP2), nil) }
    let terms = AttendedContext.Terms(
      offersHTTP2: attempt.key.allowsHTTP2, isForHTTP: attempt.isForHTTP, limits: client.limits)
    let attended = try spareContext(terms) ?? makeContext(terms)
    attended.begin(attempt)
    return (attended.context, attended)
  }

  private func spareContext(_ terms: AttendedContext.Terms) -> AttendedContext? {
    spare.withLockedValue { spare in spare.lastIndex { $0.terms == terms }.map { spare.remove(at: $0) } }
  }

  private func makeContext(_ terms: AttendedContext.Terms) throws -> AttendedContext {
    var tls = settings(offersHTTP2: terms.offersHTTP2)
    apply(terms.limits, to: &tls)
    if !terms.isForHTTP { tls.applicationProtocols = [] }
    tls.certificateVerification = .noHostnameVerification
    tls.trustRoots = .certificates([])
    return try AttendedContext(terms, tls)
  }

  /// The handshake is complete: the next one of the same terms may use the context. One that failed may still ask.
  func completed(_ context: AttendedContext) {
    context.end()
    spare.withLockedValue { if $0.count < TLSContexts.mostSpare { $0.append(context) } }
  }

  /// Reads the session's store, on a thread that may wait for the disk, and makes of it the context for connections that
  /// the library judges. Returns nil when that was done before; connections that come meanwhile wait for the same reading.
  func prepareUnattended(offersHTTP2: Bool, on loop: any EventLoop) -> EventLoopFuture<Void>? {
    guard unattended.withLockedValue({ $0[offersHTTP2] }) == nil else { return nil }
    let promise = loop.makePromise(of: Void.self)
    let other: EventLoopFuture<Void>? = readings.withLockedValue { readings in
      if let other = readings[offersHTTP2] { return other }
      readings[offersHTTP2] = promise.futureResult
      return nil
    }
    if let other {
      other.cascade(to: promise)
      return promise.futureResult
    }
    NIOThreadPool.singleton.runIfActive(eventLoop: loop) {
      // One that failed is repeated by the next connection. In this order: who finds no reading finds its result.
      defer { self.readings.withLockedValue { $0[offersHTTP2] = nil } }
      // It ended between the two looks.
      guard self.unattended.withLockedValue({ $0[offersHTTP2] }) == nil else { return }
      BlockingWork.assertMayBlock()
      var tls = self.settings(offersHTTP2: offersHTTP2)
      tls.trustRoots = self.trustRoots()
      let made = try NIOSSLContext(configuration: tls)
      TLSSessionCache.prepare(made)
      self.unattended.withLockedValue { $0[offersHTTP2] = made }
    }.cascade(to: promise)
    return promise.futureResult
  }

  private func unattendedContext(_ offersHTTP2: Bool) throws -> NIOSSLContext {
    guard let made = unattended.withLockedValue({ $0[offersHTTP2] }) else {
      throw TransportError.tlsHandshakeFailed(.other("the certificate authorities were not read"))
    }
    return made
  }

  /// For TLS with a proxy itself, which the library judges by what the session trusts.
  func proxyContext(offersHTTP2: Bool) throws -> NIOSSLContext { try unattendedContext(offersHTTP2) }

  /// ALPN (RFC 7301): the server chooses HTTP/2 where it can and may.
  private func settings(offersHTTP2: Bool) -> TLSConfiguration {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.minimumTLSVersion = configuration.minimumTLSVersion
    tls.maximumTLSVersion = configuration.maximumTLSVersion
    tls.applicationProtocols = offersHTTP2 && configuration.offersHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
    return tls
  }

  private func apply(_ limits: HandshakeLimits, to tls: inout TLSConfiguration) {
    switch limits.minimumVersion {
    case 0x0304: tls.minimumTLSVersion = .tlsv13
    case 0x0303: if tls.minimumTLSVersion != .tlsv13 { tls.minimumTLSVersion = .tlsv12 }
    case 0x0302: if tls.minimumTLSVersion == .tlsv1 { tls.minimumTLSVersion = .tlsv11 }
    default: break
    }
    if limits.requiresForwardSecrecy { tls.cipherSuites = TLSContexts.forwardSecretSuites }
  }

  /// Ephemeral key exchange only; all suites of TLS 1.3 have it.
  private static let forwardSecretSuites =
    "ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES256:ECDH+AES128:!aNULL:!eNULL:!MD5"

  /// SSL_CERT_FILE and SSL_CERT_DIR name another store, as for every program over OpenSSL.
  private func trustRoots() -> NIOSSLTrustRoots {
    switch configuration.trustRoots {
    case .file(let path): return .file(path)
    case .files(let paths): return paths.first.map { .file($0) } ?? .certificates([])
    case .system:
      for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        if let value = getenv(name), value.pointee != 0 { return .file(String(cString: value)) }
      }
      return .default
    }
  }
}
