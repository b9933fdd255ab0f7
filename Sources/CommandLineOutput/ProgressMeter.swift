/// Turns byte counts over time into a rate and the time left. Time is passed in, in seconds of any steady clock.
package struct ProgressMeter: Sendable {
  package private(set) var done: Int64 = 0
  /// nil when it is not known.
  package private(set) var total: Int64?
  private var samples: [(time: Double, done: Int64)] = []

  /// The rate is that of the last few seconds, so that it follows the network.
  private static let window = 4.0
  /// Less time than that, in seconds, says nothing of the network: the first bytes have waited in the buffers of the system and
  /// arrive at once.
  private static let leastTime = 1.0

  package init() {}

  package mutating func update(done: Int64, total: Int64?, at time: Double) {
    self.done = done
    self.total = total.flatMap { $0 >= 0 ? $0 : nil }
    // A transfer that starts over must not show a negative rate.
    if let last = samples.last, done < last.done { samples = [] }
    samples.append((time, done))
    while samples.count > 2, time - samples[0].time > ProgressMeter.window { samples.removeFirst() }
  }

  /// In the first second that of the bytes so far, as if they had taken the whole second.
  package var bytesPerSecond: Double {
    guard let first = samples.first, let last = samples.last, last.time > first.time else { return 0 }
    return Double(last.done - first.done) / max(last.time - first.time, ProgressMeter.leastTime)
  }

  package var fraction: Double? {
    guard let total else { return nil }
    return total == 0 ? 1 : min(1, Double(done) / Double(total))
  }

  package var secondsLeft: Double? {
    guard let total, bytesPerSecond > 0 else { return nil }
    return Double(max(0, total - done)) / bytesPerSecond
  }
}
