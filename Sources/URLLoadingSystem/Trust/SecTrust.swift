import Foundation
import HTTPTransport
import Synchronization

/// The certificates that a server showed, and for which host: what is to be judged before its answers are believed.
///
/// The grounds of its judgement (policies, anchors, a date) can be changed by functions of `SecTrust`, from any thread.
public final class SecTrust: Sendable, Hashable {
  /// The chain as the server sent it, its own certificate first.
  package let certificates: [SecCertificate]
  /// The host that the certificates were shown for; nil when there was none.
  package let host: String?

  struct Settings: Sendable {
    var policies: [SecPolicy]
    /// Trusted besides, or instead of, the session's store.
    var anchors: [SecCertificate] = []
    var trustsOnlyAnchors = false
    /// nil means now.
    var date: Date?
    /// The fingerprint of a chain that the app has decided to trust in spite of its faults.
    var exceptions: Data?
    var mayFetch = false
    var roots: TransportConfiguration.TrustRoots

    /// Whether the session's store alone decides, by the clock.
    var isPlain: Bool { anchors.isEmpty && !trustsOnlyAnchors && date == nil && exceptions == nil }
  }

  struct State: Sendable {
    var settings: Settings
    /// The outcome under the current settings; nil when they have changed since, or nothing was judged yet.
    var evaluation: TrustEvaluation?
    /// Counts the changes, so that an outcome under older settings is not kept.
    var changes = 0
  }

  private let state: Mutex<State>

  package convenience init(certificates: [SecCertificate], host: String?) {
    self.init(certificates: certificates, host: host, roots: .system)
  }

  /// The trust in a TLS server.
  package convenience init(
    certificates: [SecCertificate], host: String?, roots: TransportConfiguration.TrustRoots
  ) {
    self.init(certificates: certificates, host: host, policies: [SecPolicy(.server(host: host))], roots: roots)
  }

  init(
    certificates: [SecCertificate], host: String?, policies: [SecPolicy], roots: TransportConfiguration.TrustRoots
  ) {
    self.certificates = certificates
    self.host = host
    state = Mutex(State(settings: Settings(policies: policies, roots: roots)))
  }

  public static func == (left: SecTrust, right: SecTrust) -> Bool {
    left === right || (left.certificates == right.certificates && left.host == right.host)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(certificates)
    hasher.combine(host)
  }

  var settings: Settings { state.withLock { $0.settings } }
  var evaluation: TrustEvaluation? { state.withLock { $0.evaluation } }

  /// Earlier results count no longer.
  func change(_ change: (inout Settings) -> Void) {
    state.withLock {
      change(&$0.settings)
      $0.evaluation = nil
      $0.changes += 1
    }
  }

  /// Judges the chain, waiting for the certificate authorities to be read where that was not done yet.
  package func evaluate() async -> TrustEvaluation {
    let (known, settings, changes) = state.withLock { ($0.evaluation, $0.settings, $0.changes) }
    if let known { return known }
    var trusted = TrustedCertificates()
    if !settings.trustsOnlyAnchors { trusted = await TrustStore.of(settings.roots).certificates() }
    let found = await judge(by: settings, trusted)
    state.withLock { if $0.changes == changes { $0.evaluation = found } }
    return found
  }

  private func judge(by settings: Settings, _ trusted: TrustedCertificates) async -> TrustEvaluation {
    let evaluator = TrustEvaluator(settings, trusted: trusted)
    guard settings.isPlain else { return await evaluator.evaluate(certificates) }
    if let known = trusted.memory.evaluation(of: certificates, under: settings.policies, at: Date()) { return known }
    let found = await evaluator.evaluate(certificates)
    trusted.memory.keep(found, of: certificates, under: settings.policies)
    return found
  }

  /// The same on the calling thread, which waits.
  func evaluateNow() -> TrustEvaluation {
    if let evaluation { return evaluation }
    return CallingThreadExecutor.run { await self.evaluate() }
  }
}
