/// How long to wait after the n-th failure in a row: from 1 to 2 s after the first, doubling up to 5 to 10 min.
///
/// Each wait is a random one from the upper half of its range, so that clients which failed together do not come back
/// together.
package enum Backoff {
  /// No wait is longer, in seconds.
  package static let longest: Double = 600

  /// Seconds to wait after so many failures in a row; 0 after none.
  /// - Parameter jitter: A random number from 0 to 1, drawn by the caller.
  package static func delay(afterFailures failures: Int, jitter: Double) -> Double {
    guard failures > 0 else { return 0 }
    // 2^10 s is beyond the longest wait already; no greater power is computed.
    let window = min(longest, Double(1 << min(failures, 10)))
    let unit = jitter.isFinite ? min(max(jitter, 0), 1) : 1
    return window / 2 * (1 + unit)
  }
}
