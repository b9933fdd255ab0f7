import Foundation
import NIOCore

/// Turns times of the monotonic clock into dates, from one moment at which both clocks were read.
///
/// A task has one of its own: within the task intervals keep their true length whatever becomes of the wall clock, and
/// after the machine slept, which the monotonic clock does not count, or its clock was set, the next task is right again.
package struct DateAnchor: Sendable {
  package let time: NIODeadline
  package let date: Date

  /// Now.
  package init() { self.init(time: .now(), date: Date()) }

  package init(time: NIODeadline, date: Date) {
    self.time = time
    self.date = date
  }

  /// When `time` was, or will be.
  package func date(of time: NIODeadline) -> Date {
    let elapsed = Int64(bitPattern: time.uptimeNanoseconds &- self.time.uptimeNanoseconds)
    return date.addingTimeInterval(Double(elapsed) / 1e9)
  }
}
