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

  /// The beginnings of the times of transfers that an app wants for the first time.
  func newTimes(of transfers: [TransferID]) -> [TransferID: DurableInstant] {
    transfers.reduce(into: [:]) { times, id in
      guard let transfer = self.transfers[id], transfer.started == nil else { return }
      times[id] = ResourceTime.start(earliestBegin: transfer.machine.earliestBegin, clock: clock)
    }
  }

  /// A new date moves a beginning that lies ahead, and a date that lies ahead any beginning; nil where it stays.
  func time(of id: TransferID, movedTo date: Date?) -> DurableInstant? {
    guard let date, let started = transfers[id]?.started else { return nil }
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

  /// Gives every transfer that an app wants a beginning of its time, by the clock of this start of the machine.
  func anchorTimes(_ heads: [StoredTransferHead], in sessions: [StoredSession]) throws -> [StoredTransferHead] {
    let limits = Dictionary(sessions.map { ($0.id, ResourceTime.limit($0.options)) }) { $1 }
    var anchored: [TransferID: DurableInstant] = [:]
    for head in heads where head.state == .active && head.started?.bootID != clock.bootID {
      guard let started = head.started else {
        anchored[head.id] = ResourceTime.start(earliestBegin: head.earliestBegin, clock: clock)
        continue
      }
      let limit = limits[head.session] ?? ResourceTime.defaultLimit
      anchored[head.id] = ResourceTime.anchor(started, limit: limit, earliestBegin: head.earliestBegin, clock: clock)
    }
    guard !anchored.isEmpty else { return heads }
    try store.setStarted(anchored)
    return heads.map { head in
      var head = head
      head.started = anchored[head.id] ?? head.started
      return head
    }
  }
}

extension TransferFailure {
  static func timedOut(_ url: String) -> TransferFailure {
    TransferFailure(
      domain: NSURLErrorDomain, code: URLError.Code.timedOut.rawValue,
      message: "The time for the whole resource is over.", url: url)
  }
}
