import Foundation

/// When an app is started for events that it has not handled: at once the first time, then after waits that double.
/// Only launches are held back by this, never transfers.
package struct LaunchSchedule: Sendable, Equatable {
  /// Seconds between the first launch and the second.
  package var firstWait: TimeInterval
  package var longestWait: TimeInterval
  /// After so many in vain, the app has to be started by its user.
  package var limit: Int

  package init(firstWait: TimeInterval = 10, longestWait: TimeInterval = 3600, limit: Int = 30) {
    self.firstWait = firstWait
    self.longestWait = longestWait
    self.limit = limit
  }

  /// Seconds to wait before the next launch; 0 means now, nil never.
  /// - Parameters:
  ///   - launches: since the app last said that it was done.
  ///   - sinceLast: seconds since the last of them.
  package func wait(launches: Int, sinceLast: TimeInterval?) -> TimeInterval? {
    guard launches < limit else { return nil }
    guard launches > 0, let sinceLast else { return 0 }
    let pause = min(longestWait, firstWait * pow(2, Double(min(launches - 1, 30))))
    return max(0, pause - max(0, sinceLast))
  }
}
