import Foundation
import Testing
import TransferProtocol
import TransferService

@Suite struct RetryPausesTests {
  private static func retry(_ pause: Double?, _ longest: Double?) -> RetryDescription {
    var retry = RetryDescription()
    (retry.pause, retry.longestPause) = (pause, longest)
    return retry
  }

  static let rows: [(pause: Double?, longest: Double?, failures: Int, least: Double, most: Double)] = [
    (nil, nil, 3, 17, 17),
    (nil, 5, 3, 5, 5),
    (4, nil, 1, 4, 5),
    (4, nil, 3, 16, 20),
    (4, nil, 1_000_000, 600, 750),
    (4, 10, 1, 4, 5),
    (4, 10, 3, 10, 10),
    (700, nil, 1, 600, 750),
    (700, 1_000, 1, 700, 875),
    // No pause at all would be a loop.
    (0, nil, 1, 0.2, 0.2),
    (0, 0, 9, 0.2, 0.2),
    // A message that makes no sense says nothing.
    (-1, nil, 3, 17, 17),
    (.infinity, nil, 3, 17, 17),
  ]

  @Test(arguments: rows.indices) func waitsBeginWithThePauseAndDoubleUpToTheLongest(index: Int) {
    let row = Self.rows[index]
    let pauses = RetryPauses(Self.retry(row.pause, row.longest))
    #expect(pauses.delay(afterFailures: row.failures, usual: 17, jitter: 0) == row.least, "\(row)")
    #expect(pauses.delay(afterFailures: row.failures, usual: 17, jitter: 1) == row.most, "\(row)")
  }

  static let limits: [(code: URLError.Code, failures: Int, limit: Int?, isLast: Bool)] = [
    (.timedOut, 1_000, nil, false), (.timedOut, 2, 3, false), (.timedOut, 3, 3, true), (.timedOut, 4, 3, true),
    (.timedOut, 1, 0, true),
    // The machine has no network, which is no failure of the server's.
    (.notConnectedToInternet, 9, 3, false), (.dataNotAllowed, 9, 3, false),
  ]

  @Test(arguments: limits.indices) func theLimitCountsFailuresOfServersAlone(index: Int) {
    let row = Self.limits[index]
    #expect(RetryRule.isLast(row.code, failures: row.failures, limit: row.limit) == row.isLast, "\(row)")
  }
}
