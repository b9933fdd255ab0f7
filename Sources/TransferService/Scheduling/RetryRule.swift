import Foundation
import HTTPSemantics

/// Whether and when a failed transfer is tried again.
package enum RetryRule {
  package enum Verdict: Sendable, Equatable {
    case retry
    case fail
  }

  /// - Parameters:
  ///   - mayRepeat: whether the request does no harm when it reaches the server twice, or no server can have acted on it.
  ///   - failures: how often it failed in a row without progress, this time included; of doubtful failures, how often it
  ///     failed with those.
  ///   - keepsBytes: whether a later try goes on with bytes from the server or at it.
  ///   - isAttended: whether a process of the app holds the session, and waits for the end.
  package static func verdict(
    on code: URLError.Code, mayRepeat: Bool, failures: Int, keepsBytes: Bool = false, isAttended: Bool = true
  ) -> Verdict {
    let isTransient: Bool
    switch Kind(code) {
    case .transient: isTransient = true
    case .doubtfulServer: isTransient = failures < attendedTries
    case .doubtfulTrust: isTransient = keepsBytes || failures < (isAttended ? attendedTries : unattendedTries)
    case .lasting: isTransient = false
    }
    // RFC 9110 §9.2.2.
    return isTransient && mayRepeat ? .retry : .fail
  }

  /// Whether a failure passes in some cases, and in others does not. Such failures are counted by themselves.
  package static func isDoubtful(_ code: URLError.Code) -> Bool {
    switch Kind(code) {
    case .doubtfulServer, .doubtfulTrust: true
    case .transient, .lasting: false
    }
  }

  private enum Kind {
    case transient
    /// A proxy or a captive portal on the way causes these for a while; a broken server, for ever.
    case doubtfulServer
    /// So does a captive portal, and a clock that is wrong until the machine has heard of the time; a wrong certificate,
    /// until its server gets another one.
    case doubtfulTrust
    case lasting

    init(_ code: URLError.Code) {
      switch code {
      case .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
        .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
        self = .transient
      case .cannotParseResponse, .badServerResponse, .cannotDecodeRawData: self = .doubtfulServer
      case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
        .serverCertificateHasBadDate, .serverCertificateNotYetValid:
        self = .doubtfulTrust
      default: self = .lasting
      }
    }
  }

  /// With the usual waits the last of them is 7 to 15 s after the first.
  private static let attendedTries = 5
  /// Half an hour to an hour.
  private static let unattendedTries = 15

  /// Seconds to wait. A first failure is most often a connection that broke in mid-air, so the first retry is quick;
  /// then 1 s doubling to 10 min, jittered.
  package static func delay(afterFailures failures: Int, jitter: Double) -> TimeInterval {
    failures <= 1 ? 0.2 + 0.8 * min(max(jitter, 0), 1) : Backoff.delay(afterFailures: failures - 1, jitter: jitter)
  }

  /// Seconds to wait for a server that can't serve now: as long as it says, and no less than after failures.
  package static func delay(
    after refusal: PassingRefusal, failures: Int, pauses: RetryPauses = RetryPauses(), jitter: Double
  ) -> TimeInterval {
    let usual = Backoff.delay(afterFailures: failures, jitter: jitter)
    return max(
      TimeInterval(refusal.wait ?? 0), pauses.delay(afterFailures: failures, usual: usual, jitter: jitter))
  }

  /// Whether a failure is one too many.
  ///
  /// - Parameters:
  ///   - failures: how often it failed in a row without progress, this time included.
  ///   - limit: how many tries in a row may fail, as the app says; nil: any number.
  package static func isLast(_ code: URLError.Code, failures: Int, limit: Int?) -> Bool {
    switch code {
    // The machine has no network for it, which no further try would change, and which passes.
    case .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed: false
    default: limit.map { failures >= max($0, 1) } ?? false
    }
  }

  /// Seconds than which no wait is longer where neither the app nor a server says otherwise.
  package static let longestPause = Backoff.longest
}
