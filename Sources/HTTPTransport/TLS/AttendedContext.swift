import NIOConcurrencyHelpers
import NIOSSL

/// The library's settings of a connection whose client judges the server and is asked for a certificate. The library asks by
/// context and not by connection, so one attempt at a time has it: from `begin` until its handshake is complete, after
/// which a connection asks nothing.
final class AttendedContext: Sendable {
  /// All that two attempts must have in common to use one context.
  struct Terms: Equatable {
    let offersHTTP2: Bool
    let isForHTTP: Bool
    let limits: HandshakeLimits
  }

  private final class Asked: Sendable {
    private struct Attempt { weak var attempt: ConnectionAttempt? }

    private let box = NIOLockedValueBox(Attempt())

    var attempt: ConnectionAttempt? {
      get { box.withLockedValue { $0.attempt } }
      set { box.withLockedValue { $0.attempt = newValue } }
    }
  }

  let terms: Terms
  let context: NIOSSLContext
  private let asked = Asked()

  init(_ terms: Terms, _ settings: TLSConfiguration) throws {
    self.terms = terms
    var tls = settings
    tls.sslContextCallback = { [asked] _, promise in
      guard let attempt = asked.attempt else { return promise.succeed(.noChanges) }
      attempt.certificateWanted(promise)
    }
    tls.keyLogCallback = { [asked] line in asked.attempt?.noteSecret(line) }
    context = try NIOSSLContext(configuration: tls)
    TLSSessionCache.prepare(context)
  }

  func begin(_ attempt: ConnectionAttempt) { asked.attempt = attempt }

  func end() { asked.attempt = nil }
}
