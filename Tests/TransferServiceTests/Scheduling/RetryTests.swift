import Foundation
import Testing
import TransferService

@Suite struct RetryTests {
  static let verdicts: [(code: URLError.Code, method: String, failures: Int, verdict: RetryRule.Verdict)] = [
    (.networkConnectionLost, "GET", 1, .retry),
    (.networkConnectionLost, "GET", 1_000, .retry),
    (.networkConnectionLost, "get", 1, .retry),
    (.timedOut, "HEAD", 50, .retry),
    (.cannotConnectToHost, "GET", 50, .retry),
    (.cannotFindHost, "GET", 50, .retry),
    (.notConnectedToInternet, "GET", 50, .retry),
    // What may have reached the server is not repeated.
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

  static let launches: [(launches: Int, since: TimeInterval?, wait: TimeInterval?)] = [
    (0, nil, 0), (0, 5, 0), (1, 0, 10), (1, 4, 6), (1, 100, 0), (2, 0, 20), (3, 10, 30), (9, 0, 2_560), (10, 0, 3_600),
    (29, 0, 3_600), (30, 100_000, nil), (1, -50, 10),
  ]

  @Test(arguments: launches)
  func launchesAreHeldBackMoreAndMore(launches: Int, since: TimeInterval?, wait: TimeInterval?) {
    let schedule = LaunchSchedule(firstWait: 10, longestWait: 3_600, limit: 30)
    #expect(schedule.wait(launches: launches, sinceLast: since) == wait)
  }

  @Test(arguments: [
    WaitingReason.suspended, .earliestBegin(Date()), .retry(because: "It broke.", failures: 1),
    .retry(because: "It broke.", failures: 3), .noSpace(needed: 5, available: 1), .noSpace(needed: 0, available: 0),
    .hostBusy(host: "http://a:80", limit: 6), .sessionBusy(limit: 1), .serviceBusy(limit: 24), .turn,
  ])
  func everyReasonHasASentence(reason: WaitingReason) {
    #expect(reason.sentence.hasSuffix("."))
    #expect(!reason.code.contains(" "))
    #expect(reason.status().sentence == reason.sentence)
  }
}
