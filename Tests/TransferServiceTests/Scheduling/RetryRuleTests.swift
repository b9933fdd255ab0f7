import Foundation
import Testing
import TransferService

@Suite struct RetryRuleTests {
  static let verdicts: [(code: URLError.Code, method: String, failures: Int, verdict: RetryRule.Verdict)] = [
    (.networkConnectionLost, "GET", 1, .retry),
    (.networkConnectionLost, "GET", 1_000, .retry),
    (.networkConnectionLost, "get", 1, .retry),
    (.timedOut, "HEAD", 50, .retry),
    (.cannotConnectToHost, "GET", 50, .retry),
    (.cannotFindHost, "GET", 50, .retry),
    (.notConnectedToInternet, "GET", 50, .retry),
    // A request that may have reached the server is not repeated.
    (.networkConnectionLost, "POST", 1, .fail),
    (.timedOut, "PATCH", 1, .fail),
    (.cannotConnectToHost, "POST", 1, .retry),
    (.notConnectedToInternet, "POST", 9, .retry),
    // A server that does not speak HTTP gets a few chances.
    (.cannotParseResponse, "GET", 4, .retry),
    (.cannotParseResponse, "GET", 5, .fail),
    (.badServerResponse, "GET", 5, .fail),
    (.secureConnectionFailed, "GET", 1, .retry),
    // A captive portal, or a clock that is not set yet.
    (.serverCertificateUntrusted, "GET", 1, .retry),
    (.serverCertificateHasUnknownRoot, "GET", 4, .retry),
    (.serverCertificateHasBadDate, "GET", 4, .retry),
    (.serverCertificateNotYetValid, "POST", 1, .retry),
    (.serverCertificateUntrusted, "GET", 5, .fail),
    (.serverCertificateHasUnknownRoot, "GET", 5, .fail),
    (.serverCertificateHasBadDate, "POST", 5, .fail),
    (.serverCertificateNotYetValid, "GET", 5, .fail),
    // These do not change by waiting.
    (.clientCertificateRequired, "GET", 1, .fail),
    (.appTransportSecurityRequiresSecureConnection, "GET", 1, .fail),
    (.httpTooManyRedirects, "GET", 1, .fail),
    (.unsupportedURL, "GET", 1, .fail),
    (.badURL, "GET", 1, .fail),
    (.cancelled, "GET", 1, .fail),
    (.dataLengthExceedsMaximum, "GET", 1, .fail),
  ]

  @Test(arguments: verdicts.indices)
  func networkFailuresAreRetriedAndOthersAreNot(index: Int) {
    let row = Self.verdicts[index]
    #expect(
      RetryRule.verdict(on: row.code, method: row.method, failures: row.failures) == row.verdict,
      "\(row.code) \(row.method) \(row.failures)")
  }

  @Test(arguments: [(1, 0.2, 1.0), (2, 1, 2), (3, 2, 4), (6, 16, 32), (12, 300, 600), (1_000, 300, 600)])
  func waitsBeginShortAndDoubleUpToTenMinutes(failures: Int, least: TimeInterval, most: TimeInterval) {
    #expect(RetryRule.delay(afterFailures: failures, jitter: 0) == least)
    #expect(RetryRule.delay(afterFailures: failures, jitter: 1) == most)
    let between = RetryRule.delay(afterFailures: failures, jitter: 0.5)
    #expect(between > least && between < most)
  }
}
