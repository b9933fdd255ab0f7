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
        for mayRepeat in doubt.codes == Self.trustCodes ? [true, false] : [true] {
          let verdict = RetryRule.verdict(
            on: code, mayRepeat: mayRepeat, failures: failures, keepsBytes: doubt.keepsBytes,
            isAttended: doubt.isAttended)
          #expect(verdict == (failures < doubt.last ?? .max ? .retry : .fail), "\(code.rawValue) \(failures)")
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
