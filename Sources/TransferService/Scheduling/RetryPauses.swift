import Foundation
import TransferProtocol

/// The waits after failures, as an app wants them.
package struct RetryPauses: Sendable, Equatable {
  /// Seconds after the first failure, which double; nil: as `RetryRule` says.
  private var first: TimeInterval?
  /// Seconds that no wait is longer than; nil: as `RetryRule` says.
  private var longest: TimeInterval?

  /// Shorter waits would make a transfer that fails at once take the place of others.
  package static let shortest: TimeInterval = 0.2

  package init() {}

  package init(_ retry: RetryDescription?) {
    guard let retry, retry.isSound else { return }
    (first, longest) = (retry.pause, retry.longestPause)
  }

  /// Seconds to wait after so many failures in a row.
  ///
  /// - Parameters:
  ///   - usual: the wait where the app says nothing.
  ///   - jitter: 0…1, spreads the waits of those that failed together over a quarter of them.
  package func delay(afterFailures failures: Int, usual: TimeInterval, jitter: Double) -> TimeInterval {
    let ceiling = max(Self.shortest, longest ?? .infinity)
    guard let first else { return min(usual, ceiling) }
    let doubled = first * Double(1 << min(max(failures - 1, 0), 30))
    let window = min(doubled, longest ?? RetryRule.longestPause)
    let unit = jitter.isFinite ? min(max(jitter, 0), 1) : 1
    return min(max(window * (1 + unit / 4), Self.shortest), ceiling)
  }
}
