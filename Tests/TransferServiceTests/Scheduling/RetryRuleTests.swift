import Foundation
import Testing
import TransferService

@Suite struct RetryRuleTests {
  static let verdicts: [(code: URLError.Code, mayRepeat: Bool, failures: Int, verdict: RetryRule.Verdict)] = [
    (.networkConnectionLost, true, 1, .retry),
    (.networkConnectionLost, true, 1_000, .retry),
    (.timedOut, true, 50, .retry),
    (.cannotConnectToHost, true, 50, .retry),
    (.cannotFindHost, true, 50, .retry),
    (.notConnectedToInternet, true, 50, .retry),
    // A request that may have reached the server is not repeated.
    (.networkConnectionLost, false, 1, .fail),
    (.timedOut, false, 1, .fail),
    (.cannotConnectToHost, false, 1, .fail),
    // A server that does not speak HTTP gets a few chances.
    (.cannotParseResponse, true, 4, .retry),
    (.cannotParseResponse, true, 5, .fail),
    (.badServerResponse, true, 5, .fail),
    (.secureConnectionFailed, true, 1, .retry),
    // A captive portal, or a clock that is not set yet.
    (.serverCertificateUntrusted, true, 1, .retry),
    (.serverCertificateHasUnknownRoot, true, 4, .retry),
    (.serverCertificateHasBadDate, true, 4, .retry),
    (.serverCertificateNotYetValid, true, 1, .retry),
    (.serverCertificateNotYetValid, false, 1, .fail),
    (.serverCertificateUntrusted, true, 5, .fail),
    (.serverCertificateHasUnknownRoot, true, 5, .fail),
    (.serverCertificateHasBadDate, false, 5, .fail),
    (.serverCertificateNotYetValid, true, 5, .fail),
    // These do not change by waiting.
    (.clientCertificateRequired, true, 1, .fail),
    (.appTransportSecurityRequiresSecureConnection, true, 1, .fail),
    (.httpTooManyRedirects, true, 1, .fail),
    (.unsupportedURL, true, 1, .fail),
    (.badURL, true, 1, .fail),
    (.cancelled, true, 1, .fail),
    (.dataLengthExceedsMaximum, true, 1, .fail),
  ]

  @Test(arguments: verdicts.indices)
  func networkFailuresAreRetriedAndOthersAreNot(index: Int) {
    let row = Self.verdicts[index]
    #expect(
      RetryRule.verdict(on: row.code, mayRepeat: row.mayRepeat, failures: row.failures) == row.verdict,
      "\(row.code) \(row.mayRepeat) \(row.failures)")
  }

  struct Doubt: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var codes: [URLError.Code] = RetryRuleTests.trustCodes
    var keepsBytes = false
    var isAttended = true
    /// The failure that ends the transfer; nil: none.
    let last: Int?
  }

  static let trustCodes: [URLError.Code] = [
    .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
    .serverCertificateHasBadDate, .serverCertificateNotYetValid,
  ]
  static let serverCodes: [URLError.Code] = [.cannotParseResponse, .badServerResponse, .cannotDecodeRawData]

  static let doubts = [
    Doubt(testDescription: "nothing has arrived, and the app waits", last: 5),
    Doubt(testDescription: "nothing has arrived, and no app waits", isAttended: false, last: 15),
    Doubt(testDescription: "bytes are kept, and the app waits", keepsBytes: true, last: nil),
    Doubt(testDescription: "bytes are kept, and no app waits", keepsBytes: true, isAttended: false, last: nil),
    Doubt(
      testDescription: "the server sends what is no HTTP", codes: serverCodes, keepsBytes: true, isAttended: false,
      last: 5),
  ]

  @Test(arguments: doubts) func aServerThatCanNotBeTrustedIsTriedWhereThatMayHelp(_ doubt: Doubt) {
    for code in doubt.codes {
      #expect(RetryRule.isDoubtful(code))
      for failures in [1, 4, 5, 14, 15, 1_000] {
        for mayRepeat in [true, false] {
          let verdict = RetryRule.verdict(
            on: code, mayRepeat: mayRepeat, failures: failures, keepsBytes: doubt.keepsBytes,
            isAttended: doubt.isAttended)
          let isRetried = mayRepeat && failures < doubt.last ?? .max
          #expect(verdict == (isRetried ? .retry : .fail), "\(code.rawValue) \(failures)")
        }
      }
    }
  }

  /// The waits before the last try take half an hour to an hour, with which a portal's login and a clock that is set late are
  /// borne.
  @Test func theWaitsOfATransferWithoutAnAppAreNoShorterThanHalfAnHour() {
    let least = (1...14).map { RetryRule.delay(afterFailures: $0, jitter: 0) }.reduce(0, +)
    let most = (1...14).map { RetryRule.delay(afterFailures: $0, jitter: 1) }.reduce(0, +)
    #expect(least >= 1_700 && most <= 3_600)
  }

  @Test(arguments: [URLError.Code.networkConnectionLost, .timedOut, .unsupportedURL, .cannotFindHost])
  func otherFailuresAreNoneOfTheServersTrust(code: URLError.Code) { #expect(!RetryRule.isDoubtful(code)) }

  @Test(arguments: [(1, 0.2, 1.0), (2, 1, 2), (3, 2, 4), (6, 16, 32), (12, 300, 600), (1_000, 300, 600)])
  func waitsBeginShortAndDoubleUpToTenMinutes(failures: Int, least: TimeInterval, most: TimeInterval) {
    #expect(RetryRule.delay(afterFailures: failures, jitter: 0) == least)
    #expect(RetryRule.delay(afterFailures: failures, jitter: 1) == most)
    let between = RetryRule.delay(afterFailures: failures, jitter: 0.5)
    #expect(between > least && between < most)
  }
}
