import Foundation

/// When an app is started for its events: at once the first time, then after waits that double with each launch, whether
/// the app says that it has handled them or not. Only launches are held back by this, never transfers.
package struct LaunchSchedule: Sendable, Equatable {
  /// Seconds between the first launch and the second.
  package var firstWait: TimeInterval
  package var longestWait: TimeInterval
  /// After so many in a row without a word that it is done, the app has to be started by its user.
  package var limit: Int

  package init(firstWait: TimeInterval = 10, longestWait: TimeInterval = 3600, limit: Int = 30) {
    self.firstWait = firstWait
    self.longestWait = longestWait
    self.limit = limit
  }

  /// Seconds to wait before the next launch; 0 means now.
  /// - Parameters:
  ///   - launches: since the app was started by its user, or was not needed for long.
  ///   - sinceLast: seconds since the last of them; nil when there was none.
  package func wait(launches: Int, sinceLast: TimeInterval?) -> TimeInterval {
    guard launches > 0, let sinceLast else { return 0 }
    return max(0, pause(after: launches) - max(0, sinceLast))
  }

  /// Whether the app was not needed for so long after its pause that the next pause is the first one again.
  package func forgets(launches: Int, sinceLast: TimeInterval?) -> Bool {
    guard launches > 0, let sinceLast else { return true }
    return sinceLast >= pause(after: launches) + longestWait
  }

  private func pause(after launches: Int) -> TimeInterval {
    min(longestWait, firstWait * pow(2, Double(min(launches - 1, 30))))
  }
}
