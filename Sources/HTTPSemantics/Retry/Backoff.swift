/// How long to wait after the n-th failure in a row: jittered, doubling from 1–2 s up to 5–10 min.
///
/// Each wait is drawn from the upper half of its window, so that clients cut off by one failure do not come back at
/// one moment. Progress starts the count anew.
package struct Backoff: Sendable, Equatable, Codable {
  /// Failures since the last progress.
  package private(set) var failures: Int

  /// No wait is longer, in seconds.
  package static let longest: Double = 600

  package init(failures: Int = 0) { self.failures = max(0, failures) }

  /// Counts a failure.
  /// - Parameter jitter: a random number from 0 to 1, drawn by the caller.
  /// - Returns: seconds to wait before the next attempt, from 1 to 600.
  package mutating func failed(jitter: Double) -> Double {
    if failures < .max { failures += 1 }
    return Self.delay(afterFailures: failures, jitter: jitter)
  }

  /// Bytes arrived: the next failure waits as the first one did.
  package mutating func progressed() { failures = 0 }

  /// Seconds to wait after so many failures in a row; 0 after none.
  package static func delay(afterFailures failures: Int, jitter: Double) -> Double {
    guard failures > 0 else { return 0 }
    // 2^10 s is beyond the longest wait already; no greater power is computed.
    let window = min(longest, Double(1 << min(failures, 10)))
    let unit = jitter.isFinite ? min(max(jitter, 0), 1) : 1
    return window / 2 * (1 + unit)
  }
}
