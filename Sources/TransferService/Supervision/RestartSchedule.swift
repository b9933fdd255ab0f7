import Foundation

/// When a worker process that has ended is replaced. A value: it is told the time.
///
/// A worker that crashes or is killed is replaced at once; after several in a row the pause before the next start grows.
/// A process that needs the service cuts the pause short.
package struct RestartSchedule: Sendable, Equatable {
  package enum Decision: Sendable, Equatable {
    /// Start the next worker after so many seconds.
    case pause(TimeInterval)
    /// Too many workers in a row ended by themselves right after their start.
    case giveUp
  }

  /// A worker that lived longer than this does not count towards a series of crashes.
  private static let soundLife: TimeInterval = 30
  /// After so many failures in a row right after the start, starting again is given up.
  private static let mostRefusals = 10
  private static let firstPause: TimeInterval = 0.05
  private static let longestPause: TimeInterval = 30
  /// The same where no process can cut it short.
  private static let longestUntoldPause: TimeInterval = 5
  /// Seconds from one start to the next, at the least, when the service is needed.
  private static let leastInterval: TimeInterval = 1

  private var nextPause = RestartSchedule.firstPause
  /// Workers in a row that ended by themselves right after their start.
  private var refusals = 0

  package init() {}

  /// A worker ended.
  /// - Parameters:
  ///   - byItself: whether it ended with a failure status, and not by a signal.
  ///   - life: seconds since its start.
  ///   - isToldOfNeeds: whether a process that needs the service can cut the pause short.
  package mutating func ended(
    byItself: Bool, after life: TimeInterval, isToldOfNeeds: Bool = true
  ) -> Decision {
    let isSound = life > RestartSchedule.soundLife
    if isSound { nextPause = RestartSchedule.firstPause }
    refusals = byItself && !isSound ? refusals + 1 : 0
    guard refusals < RestartSchedule.mostRefusals else { return .giveUp }
    defer { nextPause = min(nextPause * 2, RestartSchedule.longestPause) }
    return .pause(isToldOfNeeds ? nextPause : min(nextPause, RestartSchedule.longestUntoldPause))
  }

  /// The rest of a pause once the service is needed, in seconds.
  /// - Parameters:
  ///   - pause: what would be left of it otherwise.
  ///   - sinceStart: seconds since the start of the worker that ended.
  package static func pause(whenNeeded pause: TimeInterval, sinceStart: TimeInterval) -> TimeInterval {
    max(0, min(pause, leastInterval - sinceStart))
  }
}
