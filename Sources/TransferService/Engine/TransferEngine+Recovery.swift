import Foundation
import SystemServices
import TransferProtocol

extension TransferEngine {
  /// Picks up where an earlier life stopped, however it ended. Called once, before any app connects.
  ///
  /// 0. What is no file in the place of a file is set aside.
  /// 1. A file that has its complete name and no event yet gets its events: the rename was the last step before them.
  /// 2. Files that their transfers no longer need are removed, and files that the queue does not know are set aside.
  /// 3. Everything that is not over is queued; what runs begins at the committed offset.
  package func recover() throws {
    watchQueue()
    do { try queue.sync { try takeUp() } } catch {
      noteDamage()
      throw error
    }
    checkLongQueue()
    enter { engine in
      engine.keepUp()
      for id in engine.sessions.ids { engine.post(.recovered, to: id) }
    }
  }

  private func takeUp() throws {
    dispatchPrecondition(condition: .onQueue(queue))
    try files.createDirectories()
    try setAsideObstacles()
    let damaged = try store.mendDamagedRows()
    if damaged > 0 { log.error("\(damaged) transfers are damaged in the queue; they end, and their apps are told") }
    let fields = try store.mendDamagedSessions(at: clock.date)
    if fields > 0 { log.error("\(fields) fields of sessions are damaged in the queue; their tasks go on") }
    recoverLimits()
    let unnamed = try nameUploads()
    try countCrashes()
    let stored = try store.liveSessions { id, error in
      log.error("session \(id) can't be read, and its tasks wait in the queue until it can be: \(error)")
    }
    let unfinished = try anchorTimes(try finishRenamed(try store.unfinishedHeads()), in: stored)
    try sweepFiles(keeping: Set(unfinished.map(\.id)), unnamedUploads: unnamed)
    do {
      try store.prune(finishedBefore: clock.date - settings.historyAge, keeping: settings.historyLength, sparing: [])
    } catch { log.warning("transfers of long ago were not forgotten: \(error)") }

    let readable = Set(stored.map(\.id))
    let heads = unfinished.filter { readable.contains($0.session) }
    let bySession = Dictionary(grouping: heads, by: \.session)
    for session in stored {
      let pending = try store.eventCount(of: session.id)
      sessions.insert(live(session, pending: pending, transfers: bySession[session.id] ?? []))
    }
    for head in heads {
      var transfer = LiveTransfer(head, isSetAside: isSetAside(head))
      if transfer.machine.isSetAside {
        log.error("transfer \(head.id) is set aside: the service ended \(head.crashes) times while it ran")
      }
      let goesOn = head.state == .active && !transfer.machine.isHeld
      let delay = retryDelay(of: head)
      let actions = transfer.machine.handle(goesOn ? .queued(delay: delay) : .wasToWait(delay), at: Moment(clock))
      transfers.insert(transfer)
      for action in actions { perform(action, for: head.id) }
      watchDeadline(of: head.id)
    }
    hasSealedFields = try store.hasSealedRequests() || store.hasAnswers()
    if try store.needsFileKey() { key.expectFile() }
    if hasSealedFields { openKey() }
    planFirstCopy()
    log.info("\(heads.count) transfers are not over, \(sessions.count) sessions have something to do or to tell")
  }

  private func sweepFiles(keeping unfinished: Set<TransferID>, unnamedUploads: Set<String>) throws {
    var needed = TransferFiles.NeededFiles(
      unfinished: unfinished, undelivered: try store.transfersWithUndeliveredFile(),
      isKnown: { [store] in try store.has($0) })
    needed.unnamedUploads = unnamedUploads
    // After a quarantine the queue says nothing of what apps may be reading.
    let days = KeptDays.read(in: files.directory, disk: files.disk)
    let sweep = try files.sweep(
      keeping: needed, sweepsDeliveries: store.quarantine == nil, date: clock.date, days: days)
    for path in sweep.unremoved { removeFiles(.file(path)) }
    for problem in sweep.problems { log.error("a file that the queue does not know was not moved: \(problem)") }
    if sweep.removed > 0 { log.notice("removed \(sweep.removed) files that no transfer needs") }
    if let folder = sweep.folder {
      log.warning("the queue does not know \(sweep.setAside) files; they were moved to \(folder)")
    }
  }

  /// Before their names are looked at: a folder has a length, too.
  private func setAsideObstacles() throws {
    let sweep = try files.setAsideObstacles(
      sparing: { [store] in try store.transfersWithUndeliveredFile() }, date: clock.date)
    for problem in sweep.problems { log.error("what is no file in the place of one was not moved: \(problem)") }
    if let folder = sweep.folder {
      log.error("\(sweep.setAside) things in the places of files were no files; they were moved to \(folder)")
    }
  }

  /// Until the next try that was planned before, for what it waited for then.
  private func retryDelay(of head: StoredTransferHead) -> Scheduler.Delay? {
    head.nextAttempt?.delay(because: head.lastFailure, failures: head.failures, on: clock)
  }

  /// Returns the transfers that are still not over.
  private func finishRenamed(_ heads: [StoredTransferHead]) throws -> [StoredTransferHead] {
    let renamed = Set(try files.disk.names(in: files.completeDirectory).compactMap { TransferID($0) })
    guard !renamed.isEmpty else { return heads }
    var unknown: [StoredTransferHead] = []
    for head in heads where renamed.contains(head.id) {
      do { if try !finishRenamed(head) { unknown.append(head) } } catch {
        log.error("transfer \(head.id), whose file is complete, is tried again: \(error)")
      }
    }
    setAside(unknown)
    return try store.unfinishedHeads()
  }

  /// - Returns: whether it is over. Response and length of a large file are committed before the rename, and those of a small one
  ///   with the end: without them the queue does not know what the file is.
  private func finishRenamed(_ head: StoredTransferHead) throws -> Bool {
    guard let stored = try store.transfer(head.id), let response = stored.response,
      let size = try files.disk.size(of: files.complete(head.id)), size == head.committedOffset
    else { return false }
    let completion = Completion(
      failure: nil, response: response, countOfBytesReceived: size, countOfBytesExpectedToReceive: size)
    // No key is open yet.
    let end = TransferStore.End(
      transfer: head.id, hasFile: true, completion: completion, responseIsInQueue: true)
    _ = try store.finish([end], date: clock.date)
    log.notice("transfer \(head.id) was complete; its events were not written yet, and are now")
    return true
  }

  /// Keeps complete files that the queue does not know. Their transfers load them again, where their requests can be repeated.
  private func setAside(_ heads: [StoredTransferHead]) {
    let (folder, failures) = files.setAsideComplete(heads.map(\.id), date: clock.date)
    for (id, error) in failures { log.error("the file of transfer \(id) was not moved: \(error)") }
    guard let folder else { return }
    for head in heads where failures[head.id] == nil {
      let path = "\(folder)/\(TransferFiles.completeName)/\(head.id)"
      log.warning("the file of transfer \(head.id) is not the one that the queue knows; it was moved to \(path)")
      do { try endUnrepeatable(head.id, keeping: path) } catch {
        log.error("transfer \(head.id), whose file was moved, is tried again: \(error)")
      }
    }
  }

  /// Ends a download whose answer had come, and whose request may not be made again.
  private func endUnrepeatable(_ id: TransferID, keeping path: String) throws {
    guard let stored = try store.transfer(id), !stored.isDamaged, stored.upload == nil,
      !stored.description.request.isRepeatable
    else { return }
    let failure = LostTask.failure(
      because: "the record of its answer is lost, and its request can't be repeated", received: path,
      url: stored.description.request.url)
    let completion = Completion(
      failure: failure, response: nil, countOfBytesReceived: 0, countOfBytesExpectedToReceive: -1)
    try store.finish(id, hasFile: false, completion: completion, date: clock.date)
  }
}
