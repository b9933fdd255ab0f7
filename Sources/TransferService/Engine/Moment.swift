import Foundation
import SystemServices

/// The time at which an event is handled, on both clocks.
struct Moment: Sendable, Equatable {
  var now: BootInstant
  var date: Date

  init(now: BootInstant, date: Date) {
    self.now = now
    self.date = date
  }

  init(_ clock: any ServiceClock) { self.init(now: clock.now, date: clock.date) }
}
