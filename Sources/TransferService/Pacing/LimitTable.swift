import TransferProtocol

/// The limits of one subject: at most one for the same hours.
package struct LimitTable: Sendable, Codable, Equatable {
  package private(set) var limits: [BandwidthLimit] = []

  /// How many a subject may have.
  package static let maximum = BandwidthLimit.maximumCount

  package init() {}

  package var isEmpty: Bool { limits.isEmpty }

  /// Takes the place of the limit for the same hours. One without a rate and without hours removes all.
  package mutating func set(_ limit: BandwidthLimit) {
    guard limit.bytesPerSecond != nil || limit.hours != nil else { return limits = [] }
    limits.removeAll { $0.hours == limit.hours }
    limits.append(limit)
  }

  /// Bytes per second at that minute of the day; nil when there is no limit then. Limits for hours come before the one
  /// without; of several for the same minute the lowest counts.
  package func rate(minute: Int) -> Int64? {
    let timed = limits.filter { $0.hours?.contains(minute: minute) == true }
    guard timed.isEmpty else { return timed.compactMap(\.bytesPerSecond).min() }
    return limits.first { $0.hours == nil }?.bytesPerSecond
  }
}
