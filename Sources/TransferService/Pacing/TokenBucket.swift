import Foundation
import SystemServices

/// Admits bytes at a rate, as a value: it is told of bytes and of the time.
///
/// Bytes that are here already are counted at once and put it in debt; `wait` tells when the debt is paid. So pieces of any
/// size keep to the rate, however small it is.
package struct TokenBucket: Sendable, Equatable {
  /// Bytes per second.
  package private(set) var rate: Double
  private var tokens: Double
  private var updated: BootInstant

  /// Seconds of the rate that may come at once after a pause.
  private static let burst: TimeInterval = 0.25

  package init(rate: Double, at now: BootInstant) {
    self.rate = max(rate, 1)
    tokens = self.rate * Self.burst
    updated = now
  }

  package mutating func take(_ bytes: Int, at now: BootInstant) {
    fill(at: now)
    tokens -= Double(bytes)
  }

  /// Seconds until the next bytes may come; 0 when they may now.
  package func wait(at now: BootInstant) -> TimeInterval {
    var bucket = self
    bucket.fill(at: now)
    return max(0, -bucket.tokens / rate)
  }

  /// A debt is paid at the new rate.
  package mutating func setRate(_ rate: Double, at now: BootInstant) {
    fill(at: now)
    self.rate = max(rate, 1)
    tokens = min(tokens, self.rate * Self.burst)
  }

  private mutating func fill(at now: BootInstant) {
    guard now > updated else { return }
    tokens = min(tokens + (now - updated) * rate, rate * Self.burst)
    updated = now
  }
}
