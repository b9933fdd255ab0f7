import Foundation

/// JSON has no infinity.
enum MessageInterval {
  /// Thirty years, which no transfer reaches.
  static let longest: TimeInterval = 1e9

  /// `interval` as a message has it: 0 to `longest`, which also stands for what is not finite.
  static func seconds(_ interval: TimeInterval) -> TimeInterval {
    interval.isFinite ? min(max(interval, 0), longest) : longest
  }
}
