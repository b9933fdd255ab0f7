import Foundation
import Synchronization
import SystemServices
import TransferProtocol

/// Counts the bytes of all transfers against the limits that hold for them. Runs call it from their loops, the engine from
/// its queue.
package final class BandwidthGate: Sendable {
  private struct Subject {
    var table: LimitTable
    /// nil while no limit holds.
    var bucket: TokenBucket?
    /// The clock on the wall is looked at once a second.
    var nextLook: BootInstant
  }

  private let clock: any ServiceClock
  private let minuteOfDay: @Sendable (Date) -> Int
  private let subjects = Mutex<[LimitSubject: Subject]>([:])

  private static let lookInterval: TimeInterval = 1

  /// - Parameter minuteOfDay: the minute since midnight where the user is.
  package init(
    clock: any ServiceClock, minuteOfDay: @escaping @Sendable (Date) -> Int = BandwidthGate.localMinute
  ) {
    self.clock = clock
    self.minuteOfDay = minuteOfDay
  }

  package static func localMinute(_ date: Date) -> Int {
    var seconds = time_t(date.timeIntervalSince1970)
    var parts = tm()
    // Else the zone stays that of the start: a user may travel.
    tzset()
    guard localtime_r(&seconds, &parts) != nil else { return 0 }
    return Int(parts.tm_hour) * 60 + Int(parts.tm_min)
  }

  /// From now on these are the limits of the subject.
  package func set(_ table: LimitTable, of subject: LimitSubject) {
    let now = clock.now
    subjects.withLock { subjects in
      guard !table.isEmpty else {
        subjects[subject] = nil
        return
      }
      subjects[subject, default: Subject(table: table, bucket: nil, nextLook: now)].table = table
      subjects[subject]?.nextLook = now
    }
  }

  /// Whether there are any, of whatever subject.
  var hasLimits: Bool { subjects.withLock { !$0.isEmpty } }

  package func limits(of subject: LimitSubject) -> LimitTable {
    subjects.withLock { $0[subject]?.table } ?? LimitTable()
  }

  /// These bytes have arrived, or are sent.
  func count(_ bytes: Int, of path: [LimitSubject]) {
    let (now, date) = (clock.now, clock.date)
    subjects.withLock { subjects in
      guard !subjects.isEmpty else { return }
      for subject in path {
        look(at: subject, in: &subjects, now: now, date: date)
        subjects[subject]?.bucket?.take(bytes, at: now)
      }
    }
  }

  /// Bytes per second, the lowest of these limits; nil where none holds now.
  func rate(of path: [LimitSubject]) -> Double? {
    let (now, date) = (clock.now, clock.date)
    return subjects.withLock { subjects in
      guard !subjects.isEmpty else { return nil }
      return path.compactMap { subject in
        look(at: subject, in: &subjects, now: now, date: date)
        return subjects[subject]?.bucket?.rate
      }.min()
    }
  }

  /// Seconds until more bytes may be read or sent; 0 when they may now.
  func wait(of path: [LimitSubject]) -> TimeInterval {
    let (now, date) = (clock.now, clock.date)
    return subjects.withLock { subjects in
      guard !subjects.isEmpty else { return 0 }
      return path.reduce(0) { longest, subject in
        look(at: subject, in: &subjects, now: now, date: date)
        return max(longest, subjects[subject]?.bucket?.wait(at: now) ?? 0)
      }
    }
  }

  /// Whether a limit holds for these bytes now.
  func isLimiting(_ path: [LimitSubject]) -> Bool {
    subjects.withLock { subjects in path.contains { subjects[$0]?.bucket != nil } }
  }

  private func look(
    at name: LimitSubject, in subjects: inout [LimitSubject: Subject], now: BootInstant, date: Date
  ) {
    guard var subject = subjects[name], now >= subject.nextLook else { return }
    subject.nextLook = now + Self.lookInterval
    let rate = subject.table.rate(minute: minuteOfDay(date)).map(Double.init)
    switch (rate, subject.bucket) {
    case (let rate?, nil): subject.bucket = TokenBucket(rate: rate, at: now)
    case (let rate?, .some): subject.bucket?.setRate(rate, at: now)
    case (nil, _): subject.bucket = nil
    }
    subjects[name] = subject
  }
}
