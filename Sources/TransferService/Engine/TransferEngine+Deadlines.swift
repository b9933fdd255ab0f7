import Foundation
import SystemServices
import TransferProtocol

/// Ends transfers whose time for the whole resource is over while they wait. A run ends by itself in time.
extension TransferEngine {
  /// Seconds after which deadlines are looked at, however far they are: the machine may sleep.
  private static let longestLook: TimeInterval = 600

  func watchDeadline(of id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], let session = sessions[transfer.session], transfer.machine.mayRunOutOfTime,
      let started = transfer.started
    else { return deadlines[id] = nil }
    let limit = ResourceTime.limit(session.options)
    guard limit.isFinite else { return deadlines[id] = nil }
    let start = ResourceTime.start(
      started, limit: limit, earliestBegin: transfer.machine.earliestBegin, clock: clock)
    deadlines[id] = start + limit
  }

  /// Seconds since the time for the whole resource began, by the clock of the deadline; negative where it lies ahead.
  func passedTime(of transfer: LiveTransfer, limit: TimeInterval) -> TimeInterval {
    guard let started = transfer.started else { return 0 }
    let start = ResourceTime.start(
      started, limit: limit, earliestBegin: transfer.machine.earliestBegin, clock: clock)
    return clock.now - start
  }

  /// The options of the session may be others.
  func watchDeadlines(of session: SessionID) {
    dispatchPrecondition(condition: .onQueue(queue))
    for id in (sessions[session]?.unfinished ?? [:]).values { watchDeadline(of: id) }
  }

  /// Its app has suspended or resumed it, or the user has paused it or let it go on.
  func stopOrContinueTime(of id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], let started = transfer.started, !transfer.machine.isEnding else { return }
    let limit = sessions[transfer.session].map { ResourceTime.limit($0.options) } ?? ResourceTime.defaultLimit
    let date = transfer.machine.earliestBegin
    let time =
      transfer.machine.stopsTime
      ? ResourceTime.stopped(started, limit: limit, earliestBegin: date, clock: clock)
      : ResourceTime.continued(started, earliestBegin: date, clock: clock)
    guard time != started else { return }
    transfers.update(id) { $0.started = time }
    changedTimes.insert(id)
  }

  /// Called at the end of each turn. Those of many transfers are one change. A service that ends before it is written brings the
  /// times in line with the states when it starts.
  func writeTimes() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !changedTimes.isEmpty, !timers.isSet(.times) else { return }
    let ids = changedTimes
    changedTimes = []
    let times = ids.reduce(into: [:]) { times, id in times[id] = transfers[id]?.started }
    guard !times.isEmpty else { return }
    write {
      store.setStarted(times, ended: $0)
    } failed: { engine, error in
      engine.log.error("the times of \(times.count) transfers could not be noted: \(error)")
      // A service that ends does not try again.
      guard engine.isServing else { return }
      engine.changedTimes.formUnion(ids)
      // The turn that the timer begins writes them.
      engine.setTimer(.times, in: engine.settings.storagePatience) { _ in }
    }
  }

  /// The beginnings of the times of transfers that an app wants for the first time.
  func newTimes(of transfers: [TransferID]) -> [TransferID: DurableInstant] {
    transfers.reduce(into: [:]) { times, id in
      guard let transfer = self.transfers[id], transfer.started == nil else { return }
      times[id] = ResourceTime.start(earliestBegin: transfer.machine.earliestBegin, clock: clock)
      // It begins when the user lets it go on.
      if transfer.machine.isHeld, !transfer.machine.isSetAside { times[id]?.passed = 0 }
    }
  }

  /// A new date moves a beginning that lies ahead, and a date that lies ahead any beginning; nil where it stays.
  func time(of id: TransferID, movedTo date: Date?) -> DurableInstant? {
    guard let date, let started = transfers[id]?.started else { return nil }
    if ResourceTime.passed(started) != nil {
      guard date > clock.date else { return nil }
      var time = ResourceTime.start(earliestBegin: date, clock: clock)
      time.passed = 0
      return time
    }
    let isAhead = started.instant(on: clock, past: 0, future: .infinity) > clock.now
    return isAhead || date > clock.date ? ResourceTime.start(earliestBegin: date, clock: clock) : nil
  }

  func endOverdue() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isServing else { return }
    let overdue = deadlines.takeOverdue(at: clock.now)
    guard !overdue.isEmpty else { return }
    do {
      let outlines = try store.outlines(of: overdue)
      for id in overdue {
        post(.failed(.timedOut(outlines[id]?.url ?? ""), outlines[id]?.response), to: id)
      }
    } catch {
      log.error("transfers whose time is over could not be ended and will be: \(error)")
      for id in overdue { deadlines[id] = clock.now + settings.storagePatience }
    }
  }

  func planDeadline() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isServing, let earliest = deadlines.earliest else { return timers.cancel(.deadline) }
    guard earliest != plannedDeadline || !timers.isSet(.deadline) else { return }
    plannedDeadline = earliest
    // The turn that the timer begins ends what is overdue.
    setTimer(.deadline, in: min(max(0.001, earliest - clock.now), TransferEngine.longestLook)) { _ in }
  }

  /// Gives every transfer that an app wants a beginning of its time, by the clock of this start of the machine, and has the times
  /// of those stand still that are suspended or paused.
  func anchorTimes(_ heads: [StoredTransferHead], in sessions: [StoredSession]) throws -> [StoredTransferHead] {
    let limits = Dictionary(sessions.map { ($0.id, ResourceTime.limit($0.options)) }) { $1 }
    var anchored: [TransferID: DurableInstant] = [:]
    for head in heads {
      let limit = limits[head.session] ?? ResourceTime.defaultLimit
      let time = time(of: head, limit: limit)
      if let time, time != head.started { anchored[head.id] = time }
    }
    guard !anchored.isEmpty else { return heads }
    try store.setStarted(anchored)
    return heads.map { head in
      var head = head
      head.started = anchored[head.id] ?? head.started
      return head
    }
  }

  private func time(of head: StoredTransferHead, limit: TimeInterval) -> DurableInstant? {
    let date = head.earliestBegin
    guard
      let started = head.started
        ?? (head.state == .active ? ResourceTime.start(earliestBegin: date, clock: clock) : nil)
    else { return nil }
    let isStopped = ResourceTime.passed(started) != nil
    if head.state == .suspended || head.isHeld {
      return isStopped ? started : ResourceTime.stopped(started, limit: limit, earliestBegin: date, clock: clock)
    }
    guard !isStopped else { return ResourceTime.continued(started, earliestBegin: date, clock: clock) }
    guard started.bootID != clock.bootID else { return started }
    return ResourceTime.anchor(started, limit: limit, earliestBegin: date, clock: clock)
  }
}

extension TransferFailure {
  static func timedOut(_ url: String) -> TransferFailure {
    TransferFailure(
      domain: NSURLErrorDomain, code: URLError.Code.timedOut.rawValue,
      message: "The time for the whole resource is over.", url: url)
  }
}
