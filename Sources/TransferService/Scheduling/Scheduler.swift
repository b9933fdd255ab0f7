import Foundation
import SystemServices

/// Decides which transfers run. A value without clock and network: it is told of transfers and of the time, and answers
/// what to start and when to ask again.
///
/// A transfer may start when its delay is over and neither the service, nor its host, nor its session's allowance for
/// that host is full. Among those, the app with the fewest running transfers goes first, and of apps with as many the
/// one that was served longest ago; within an app the higher priority, then the older transfer. So one app with ten
/// thousand transfers does not keep another with one from running.
///
/// A running transfer that waits long for its app may be parked: then it keeps no other app's from running. An app has as
/// many running ones as the service, those included that are parked.
package struct Scheduler {
  package struct Limits: Sendable, Equatable {
    package var total = 24
    package var perHost = 6

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

    package init(
      id: TransferID, app: AppID, session: SessionID, host: String, priority: Float = 0.5, sessionLimit: Int = 6,
      delay: Delay? = nil
    ) {
      self.id = id
      self.app = app
      self.session = session
      self.host = host
      self.priority = priority
      self.sessionLimit = max(1, sessionLimit)
      self.delay = delay
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
    /// Seconds until something changes by time alone; nil when nothing will.
    package var wakeAfter: TimeInterval?

    package init(start: [TransferID] = [], wakeAfter: TimeInterval? = nil) {
      self.start = start
      self.wakeAfter = wakeAfter
    }
  }

  /// Waiting transfers to one host of one session, the next one last.
  private struct Queue {
    var entries: [(priority: Float, id: TransferID)] = []

    mutating func insert(_ id: TransferID, priority: Float) {
      entries.insert((priority, id), at: place(of: id, priority: priority))
    }

    mutating func remove(_ id: TransferID, priority: Float) {
      let index = place(of: id, priority: priority)
      if entries.indices.contains(index), entries[index].id == id { entries.remove(at: index) }
    }

    /// The index at which it is or belongs: lower priorities and, among equals, younger ones come before it.
    private func place(of id: TransferID, priority: Float) -> Int {
      var low = 0
      var high = entries.count
      while low < high {
        let middle = (low + high) / 2
        let entry = entries[middle]
        let comesBefore = entry.priority != priority ? entry.priority < priority : entry.id > id
        if comesBefore { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  private struct Lane: Hashable {
    let session: SessionID
    let host: String
  }

  private let limits: Limits
  private var candidates: [TransferID: Candidate] = [:]
  private var delayed: Set<TransferID> = []
  private var ready: [AppID: [Lane: Queue]] = [:]
  private var running: Set<TransferID> = []
  private var parked: Set<TransferID> = []
  private var runningPerHost: [String: Int] = [:]
  private var runningPerLane: [Lane: Int] = [:]
  private var runningPerApp: [AppID: Int] = [:]
  private var lastServed: [AppID: UInt64] = [:]
  private var turn: UInt64 = 0
  /// Something changed since the last decision.
  package private(set) var isDecisionDue = true

  package init(limits: Limits = Limits()) { self.limits = limits }

  package var runningCount: Int { running.count }
  package var count: Int { candidates.count }
  package func isRunning(_ id: TransferID) -> Bool { running.contains(id) }
  package func contains(_ id: TransferID) -> Bool { candidates[id] != nil }

  /// A transfer wants to run. One that is known already is replaced; a running one is counted as ended.
  package mutating func add(_ candidate: Candidate) {
    remove(candidate.id)
    isDecisionDue = true
    candidates[candidate.id] = candidate
    if candidate.delay == nil { enqueue(candidate) } else { delayed.insert(candidate.id) }
  }

  /// It ended, was suspended or is gone.
  package mutating func remove(_ id: TransferID) {
    guard let candidate = candidates.removeValue(forKey: id) else { return }
    isDecisionDue = true
    if running.remove(id) != nil {
      parked.remove(id)
      count(candidate, -1)
    } else if delayed.remove(id) == nil {
      dequeue(candidate)
    }
  }

  package mutating func setPriority(_ priority: Float, of id: TransferID) {
    guard var candidate = candidates[id], candidate.priority != priority else { return }
    isDecisionDue = true
    let isReady = !running.contains(id) && !delayed.contains(id)
    if isReady { dequeue(candidate) }
    candidate.priority = priority
    candidates[id] = candidate
    if isReady { enqueue(candidate) }
  }

  /// A running transfer waits for its app, or does so no longer.
  package mutating func setParked(_ isParked: Bool, _ id: TransferID) {
    guard running.contains(id), parked.contains(id) != isParked else { return }
    if isParked { parked.insert(id) } else { parked.remove(id) }
    isDecisionDue = true
  }

  /// Whether the service is full, but for parked transfers. More are there when one is parked no longer.
  private var isFull: Bool { running.count - parked.count >= limits.total }

  private func isFull(_ app: AppID) -> Bool { (runningPerApp[app] ?? 0) >= limits.total }

  /// Delays may be over.
  package mutating func clockMoved() { isDecisionDue = true }

  package mutating func decide(now: BootInstant, date: Date) -> Decision {
    isDecisionDue = false
    var decision = Decision()
    for id in delayed {
      guard let delay = candidates[id]?.delay else { continue }
      let remaining = delay.remaining(now: now, date: date)
      if remaining <= 0 {
        release(id)
      } else {
        decision.wakeAfter = min(decision.wakeAfter ?? .infinity, remaining)
      }
    }
    while !isFull, let candidate = next() {
      dequeue(candidate)
      running.insert(candidate.id)
      count(candidate, 1)
      turn += 1
      lastServed[candidate.app] = turn
      decision.start.append(candidate.id)
    }
    return decision
  }

  /// Why it does not run; nil when it does or is not known.
  package func waitingReason(of id: TransferID) -> WaitingReason? {
    guard let candidate = candidates[id], !running.contains(id) else { return nil }
    if delayed.contains(id), let delay = candidate.delay { return delay.reason }
    if isFull || isFull(candidate.app) { return .serviceBusy(limit: limits.total) }
    if (runningPerHost[candidate.host] ?? 0) >= limits.perHost {
      return .hostBusy(host: candidate.host, limit: limits.perHost)
    }
    let lane = Lane(session: candidate.session, host: candidate.host)
    if (runningPerLane[lane] ?? 0) >= candidate.sessionLimit { return .sessionBusy(limit: candidate.sessionLimit) }
    return .turn
  }

  /// Seconds until its delay is over.
  package func remainingDelay(of id: TransferID, now: BootInstant, date: Date) -> TimeInterval? {
    guard delayed.contains(id) else { return nil }
    return candidates[id]?.delay?.remaining(now: now, date: date)
  }

  private func next() -> Candidate? {
    let apps = ready.keys.sorted { left, right in
      let counts = (runningPerApp[left] ?? 0, runningPerApp[right] ?? 0)
      if counts.0 != counts.1 { return counts.0 < counts.1 }
      let served = (lastServed[left] ?? 0, lastServed[right] ?? 0)
      return served.0 != served.1 ? served.0 < served.1 : left < right
    }
    for app in apps where !isFull(app) {
      if let candidate = best(of: ready[app] ?? [:]) { return candidate }
    }
    return nil
  }

  private func best(of lanes: [Lane: Queue]) -> Candidate? {
    var best: Candidate?
    for (lane, queue) in lanes where (runningPerHost[lane.host] ?? 0) < limits.perHost {
      guard let id = queue.entries.last?.id, let candidate = candidates[id],
        (runningPerLane[lane] ?? 0) < candidate.sessionLimit
      else { continue }
      guard let present = best else {
        best = candidate
        continue
      }
      let isBetter =
        candidate.priority != present.priority ? candidate.priority > present.priority : candidate.id < present.id
      if isBetter { best = candidate }
    }
    return best
  }

  private mutating func release(_ id: TransferID) {
    guard delayed.remove(id) != nil, var candidate = candidates[id] else { return }
    candidate.delay = nil
    candidates[id] = candidate
    enqueue(candidate)
  }

  private mutating func enqueue(_ candidate: Candidate) {
    let lane = Lane(session: candidate.session, host: candidate.host)
    ready[candidate.app, default: [:]][lane, default: Queue()].insert(candidate.id, priority: candidate.priority)
  }

  private mutating func dequeue(_ candidate: Candidate) {
    let lane = Lane(session: candidate.session, host: candidate.host)
    ready[candidate.app]?[lane]?.remove(candidate.id, priority: candidate.priority)
    if ready[candidate.app]?[lane]?.entries.isEmpty ?? false { ready[candidate.app]?[lane] = nil }
    if ready[candidate.app]?.isEmpty ?? false { ready[candidate.app] = nil }
  }

  private mutating func count(_ candidate: Candidate, _ change: Int) {
    func add(_ value: Int?) -> Int? {
      let sum = (value ?? 0) + change
      return sum > 0 ? sum : nil
    }
    runningPerHost[candidate.host] = add(runningPerHost[candidate.host])
    let lane = Lane(session: candidate.session, host: candidate.host)
    runningPerLane[lane] = add(runningPerLane[lane])
    runningPerApp[candidate.app] = add(runningPerApp[candidate.app])
  }
}
