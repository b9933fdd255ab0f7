import Foundation

/// Wakes a run loop that waits, from any thread.
final class RunLoopAlarm: @unchecked Sendable {
  // Sendable by hand: a constant, whose date may be set on any thread.

  /// In a mode in which nothing ever runs: it keeps no loop going, and never fires.
  private static let mode = RunLoop.Mode("URLLoadingSystem.alarm")

  private let timer = Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }

  init(_ loop: RunLoop) { loop.add(timer, forMode: RunLoopAlarm.mode) }

  deinit { timer.invalidate() }

  /// A new date of a timer makes its run loop look at its sources again.
  func wake() { timer.fireDate = .distantFuture }
}
