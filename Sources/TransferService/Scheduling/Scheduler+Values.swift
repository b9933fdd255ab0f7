import Foundation
import SystemServices

extension Scheduler {
  package struct Limits: Sendable, Equatable {
    /// How many transfers run at a time, but for those that wait for their app.
    package var total = 24
    /// How many of them from one host, whatever its port, and from one address, whatever its name.
    package var perHost = 6
    /// How many slow transfers run while others wait.
    package var slow = 4
    /// Bytes a second. A transfer that gets fewer over half a minute in which it is not held back is slow.
    package var leastRate: Double = 1_024
    /// Seconds after which a transfer gives way to one of another app, or to one of a higher priority.
    package var slice: TimeInterval = 60
    /// Seconds after which a slow transfer gives way to another slow one.
    package var slowSlice: TimeInterval = 300
    /// Seconds after which a transfer gives way to any other one of its app.
    package var longSlice: TimeInterval = 3_600
    /// Seconds of waiting that count as much as the whole range of priorities.
    package var ageing: TimeInterval = 4 * 3_600
    /// Seconds for which a transfer runs alone that ran when the service crashed.
    package var trial: TimeInterval = 10

    package init(total: Int = 24, perHost: Int = 6) {
      self.total = total
      self.perHost = perHost
    }
  }

  package struct Candidate: Sendable, Equatable {
    package var id: TransferID
    package var app: AppID
    package var session: SessionID
    package var host: String
    package var priority: Float
    /// How many connections the session allows to one host.
    package var sessionLimit: Int
    package var delay: Delay?
    /// When it was handed over. Its wait counts from the first time on, or from when it gave way to others.
    package var since: BootInstant
    /// It ran when the service crashed.
    package var isSuspect: Bool

    package init(
      id: TransferID, app: AppID, session: SessionID, host: String, priority: Float = 0.5, sessionLimit: Int = 6,
      delay: Delay? = nil, since: BootInstant = BootInstant(nanoseconds: 0), isSuspect: Bool = false
    ) {
      self.id = id
      self.app = app
      self.session = session
      self.host = host
      self.priority = priority
      self.sessionLimit = max(1, sessionLimit)
      self.delay = delay
      self.since = since
      self.isSuspect = isSuspect
    }
  }

  package struct Delay: Sendable, Equatable {
    package var until: Until
    package var reason: WaitingReason

    package init(until: Until, reason: WaitingReason) {
      self.until = until
      self.reason = reason
    }

    /// Retries wait by the clock that is never set, dates that an app chose by the wall clock.
    package enum Until: Sendable, Equatable {
      case instant(BootInstant)
      case date(Date)
    }

    func remaining(now: BootInstant, date: Date) -> TimeInterval {
      switch until {
      case .instant(let instant): instant - now
      case .date(let day): day.timeIntervalSince(date)
      }
    }
  }

  package struct Decision: Sendable, Equatable {
    package var start: [TransferID]
    /// Transfers that give way. Each is to be stopped, and handed over again with what it has.
    package var stop: [TransferID]
    /// Seconds until something changes by time alone; nil when nothing will.
    package var wakeAfter: TimeInterval?

    package init(start: [TransferID] = [], stop: [TransferID] = [], wakeAfter: TimeInterval? = nil) {
      self.start = start
      self.stop = stop
      self.wakeAfter = wakeAfter
    }
  }
}
