import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol

extension TransferEngine {
  /// Picks up where an earlier life stopped, however it ended. Called once, before anybody connects.
  ///
  /// 1. A file that has its complete name and no event yet gets its events: the rename was the last step before them.
  /// 2. Files that nothing refers to are removed.
  /// 3. Everything that is not over is queued; what runs begins at the committed offset.
  package func recover() throws {
    try queue.sync {
      try files.createDirectories()
      var heads = try store.unfinishedHeads()
      let renamed = Set(try files.disk.names(in: files.completeDirectory).compactMap { TransferID($0) })
      for head in heads where renamed.contains(head.id) { try finishRenamed(head) }
      if !renamed.isEmpty { heads = try store.unfinishedHeads() }

      let removed = try files.removeOrphans(
        unfinished: Set(heads.map(\.id)), undelivered: try store.transfersWithUndeliveredFile(),
        // After a quarantine the queue says nothing of what apps may be reading.
        sweepsDeliveries: store.quarantine == nil)
      if removed > 0 { log.notice("removed \(removed) files that no transfer needs") }
      try store.prune(
        finishedBefore: clock.date - settings.historyAge, keeping: settings.historyLength, sparing: [])

      for session in try store.liveSessions() { adopt(session) }
      for head in heads {
        transfers[head.id] = LiveTransfer(head)
        sessions[head.session]?.unfinished[head.taskIdentifier] = head.id
        guard head.state == .active else { continue }
        enqueue(head.id, retryAt: head.nextAttempt, because: head.lastFailure)
      }
      log.info("\(heads.count) transfers are not over, \(sessions.count) sessions have something to do or to tell")
    }
    queue.async {
      self.schedule()
      for id in self.sessions.keys { self.considerLaunch(id) }
      self.considerIdle()
    }
  }

  private func finishRenamed(_ head: StoredTransferHead) throws {
    guard let stored = try store.transfer(head.id), let response = stored.response,
      let size = try files.disk.size(of: files.complete(head.id))
    else {
      // The response is committed before the rename; without it the file is none of ours.
      try files.disk.remove(files.complete(head.id))
      return
    }
    let completion = Completion(
      failure: nil, response: response, countOfBytesReceived: size, countOfBytesExpectedToReceive: size)
    try store.finish(head.id, hasFile: true, completion: completion, date: clock.date)
    log.notice("transfer \(head.id) was complete; its events were not written yet, and are now")
  }

  func adopt(_ stored: StoredSession) {
    if sessions[stored.id] == nil {
      var session = LiveSession(stored)
      // An app that has outlived the service that it knew comes back by itself, however long that takes it.
      if let holder = stored.holder, holder.bootID == clock.bootID { session.lastHolder = holder.process }
      sessions[stored.id] = session
      sessionsByName[SessionName(app: stored.app, identifier: stored.identifier)] = stored.id
    } else {
      sessions[stored.id]?.stored = stored
    }
  }

  /// Hands an active transfer to the scheduler. It waits for its next try or its earliest date, whichever is later.
  func enqueue(_ id: TransferID, retryAt: DurableInstant? = nil, because reason: String? = nil) {
    guard let transfer = transfers[id], let session = sessions[transfer.session] else { return }
    var delay: Scheduler.Delay?
    if let date = transfer.earliestBegin, date > clock.date {
      delay = .init(until: .date(date), reason: .earliestBegin(date))
    }
    if let retryAt {
      let instant = retryAt.instant(on: clock, past: Backoff.longest, future: Backoff.longest)
      let wait = Scheduler.Delay(
        until: .instant(instant), reason: .retry(because: reason ?? "", failures: max(1, transfer.failures)))
      let (now, date) = (clock.now, clock.date)
      if wait.remaining(now: now, date: date) > delay?.remaining(now: now, date: date) ?? 0 { delay = wait }
    }
    enqueue(id, session: session, delay: delay)
  }

  func enqueue(_ id: TransferID, session: LiveSession, delay: Scheduler.Delay?) {
    guard let transfer = transfers[id] else { return }
    scheduler.add(
      Scheduler.Candidate(
        id: id, app: session.stored.app, session: transfer.session, host: transfer.host, priority: transfer.priority,
        sessionLimit: session.stored.options.httpMaximumConnectionsPerHost ?? settings.limits.perHost, delay: delay))
  }
}
