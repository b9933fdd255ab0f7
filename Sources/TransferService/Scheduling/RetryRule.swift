import Foundation
import HTTPSemantics

/// Whether and when a failed transfer is tried again.
package enum RetryRule {
  package enum Verdict: Sendable, Equatable {
    case retry
    case fail
  }

  /// - Parameter failures: how often it failed in a row without progress, this time included.
  package static func verdict(on code: URLError.Code, method: String, failures: Int) -> Verdict {
    verdict(on: code, mayRepeat: HTTPMethod.isIdempotent(method.uppercased()), failures: failures)
  }

  /// - Parameter mayRepeat: whether the request does no harm when it reaches the server twice.
  package static func verdict(on code: URLError.Code, mayRepeat: Bool, failures: Int) -> Verdict {
    guard isTransient(code, failures: failures) else { return .fail }
    // RFC 9110 §9.2.2: what may have reached the server is repeated only when repeating does no harm. These failures
    // come before the first byte of the request.
    let neverSent: Set<URLError.Code> = [
      .cannotFindHost, .cannotConnectToHost, .notConnectedToInternet, .dnsLookupFailed, .secureConnectionFailed,
      .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .serverCertificateHasBadDate,
      .serverCertificateNotYetValid,
    ]
    return mayRepeat || neverSent.contains(code) ? .retry : .fail
  }

  private static func isTransient(_ code: URLError.Code, failures: Int) -> Bool {
    switch code {
    case .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
      .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
      true
    // A proxy or a captive portal on the way causes these for a while, and so does a clock that is wrong until the
    // machine has heard of the time; a broken server, for ever.
    case .cannotParseResponse, .badServerResponse, .cannotDecodeRawData, .secureConnectionFailed,
      .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .serverCertificateHasBadDate,
      .serverCertificateNotYetValid:
      failures < 5
    default: false
    }
  }

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
