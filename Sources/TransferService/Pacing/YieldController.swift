import Foundation
import SystemServices

/// Decides how fast a transfer reads or sends so that other traffic over the same path does not wait behind it, as a value: it
/// is told of delays and of the bytes that arrived or were sent.
///
/// After LEDBAT (RFC 6817): the lowest delay of the last minutes is that of the path itself; what is above it is time in
/// queues, which are filled by this transfer and by others. Above the target the rate falls, below it the rate rises. The
/// sender's window can't be set from here, so the rate is that of reading, behind which the receive window closes, or that at
/// which the kernel is given bytes to send.
package struct YieldController: Sendable, Equatable {
  /// Seconds of queueing that are aimed at. RFC 6817 §2.3: at most 100 ms.
  package static let target: TimeInterval = 0.06
  /// Bytes per second: it always goes on.
  package static let lowestRate: Double = 16_384
  /// Seconds from one sample to the next, at least.
  package static let interval: TimeInterval = 0.1
  /// RFC 6817 §2.2: the lowest delay is kept by the minute, since paths change.
  private static let minutes = 10
  /// How much the rate rises in each interval while there is no queue. It is doubled at most.
  private static let gain = 0.1

  /// Bytes per second; nil: as fast as they come.
  package private(set) var rate: Double?
  /// The lowest delay of each of the last minutes, the present one last.
  private var lowest: [TimeInterval] = []
  private var minuteBegan: BootInstant?
  private var sampled: BootInstant?
  /// Bytes that may always be on their way, with a rate and without one.
  private static let smallestWindow = (12_288.0, 65_536.0)

  package init() {}

  /// - Parameters:
  ///   - delay: seconds of a round trip, as the kernel measured them.
  ///   - throughput: bytes per second since the sample before.
  package mutating func sample(delay: TimeInterval, throughput: Double, at now: BootInstant) {
    guard delay > 0 else { return }
    keep(delay, at: now)
    // At a low rate pieces are far apart.
    let intervals = sampled.map { max(1, (now - $0) / Self.interval) } ?? 1
    sampled = now
    let queueing = delay - (lowest.min() ?? delay)
    // RFC 6817 §2.4.2: 1 without a queue, 0 at the target, and below 0 above it.
    let offTarget = (Self.target - queueing) / Self.target
    guard offTarget >= 0 else {
      // No faster than half of what came, however long the queue: one sample may be wrong.
      let present = min(rate ?? throughput, max(throughput, Self.lowestRate))
      rate = max(present * max(0.5, 1 + offTarget * 0.5), Self.lowestRate)
      return
    }
    guard let rate else { return }
    let risen = rate * (1 + min(1, Self.gain * intervals) * offTarget)
    // A rate far above what comes holds nothing back.
    self.rate = risen > 8 * max(throughput, Self.lowestRate) ? nil : risen
  }

  /// How many bytes may be on their way: those of the rate over the path and the queue that is aimed at. Without a rate twice as
  /// many as came, so that a sender that begins fast is noticed before it has filled a large receive buffer. nil where nothing
  /// is known.
  package func window(throughput: Double) -> Int? {
    guard let path = lowest.min() else { return nil }
    let (least, leastWithoutRate) = Self.smallestWindow
    let bytes =
      if let rate { max(least, rate * (path + Self.target)) } else {
        max(leastWithoutRate, 2 * throughput * (path + Self.target))
      }
    return Int(min(bytes, 1e9))
  }

  private mutating func keep(_ delay: TimeInterval, at now: BootInstant) {
    guard let began = minuteBegan, now - began < 60, let last = lowest.last else {
      minuteBegan = now
      lowest.append(delay)
      if lowest.count > Self.minutes { lowest.removeFirst() }
      return
    }
    lowest[lowest.count - 1] = min(last, delay)
  }
}
