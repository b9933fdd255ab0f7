import Foundation
import TransferProtocol

/// Writes the ends of transfers, many in one commit. The engine does not wait for the disk meanwhile.
extension TransferEngine {
  /// Called at the end of each turn.
  ///
  /// - Parameter requestsWait: whether further requests have arrived, whose cancellations belong to the same commit.
  func writeEnds(requestsWait: Bool) {
    dispatchPrecondition(condition: .onQueue(queue))
    if !isServing { giveUpEndsAwaitingStorage() }
    while gatheredEnds.isDue(requestsWait: requestsWait, at: clock.now) {
      let ids = gatheredEnds.take()
      let exporting = ids.filter(needsExport)
      export(exporting)
      let rest = exporting.isEmpty ? ids : ids.filter(Set(ids).subtracting(exporting).contains)
      write(ends(of: holdEndsWithoutKey(rest)))
    }
  }

  /// Whether its resume point has to be made before its end is written.
  private func needsExport(_ id: TransferID) -> Bool {
    guard let transfer = transfers[id], !transfer.isExportTried, transfer.resumePoint == nil else { return false }
    switch transfer.machine.state {
    case .finishing(.cancelled): return wantsResumePoint(id)
    // Its app is told of it with the failure.
    case .finishing(.failure): return transfer.received > 0 && transfer.sent == nil
    default: return false
    }
  }

  /// Makes the resume points that apps wait for, and those of downloads that have failed. Their files have to be on the disk, so that
  /// is done elsewhere; other ends are written meanwhile.
  private func export(_ ids: [TransferID]) {
    guard !ids.isEmpty else { return }
    gatheredEnds.hold(ids)
    exporter.start(ids) { exports in
      self.enter { $0.exported(exports, of: ids) }
    }
  }

  private func exported(_ exports: [TransferID: ResumeFileExporter.Export], of ids: [TransferID]) {
    let waiting = holdEndsWithoutFolder(ids, exports)
    let ids = ids.filter { !waiting.contains($0) }
    for id in ids {
      transfers.update(id) {
        $0.isExportTried = true
        ($0.resumePoint, $0.uploadPoint) = (exports[id]?.point, exports[id]?.uploadPoint)
      }
      // A transfer that has gone with its session meanwhile has no caller that takes the file.
      if transfers[id] == nil, let path = exports[id]?.point?.path { removeFiles(.file(path)) }
    }
    gatheredEnds.release(ids, at: clock.now)
  }

  // MARK: Folders that are gone

  /// Those whose bytes may come back with their folder stay held until a probe succeeds.
  private func holdEndsWithoutFolder(
    _ ids: [TransferID], _ exports: [TransferID: ResumeFileExporter.Export]
  ) -> Set<TransferID> {
    let waiting = ids.filter { exports[$0]?.missing != nil }
    guard let id = waiting.first, let error = exports[id]?.missing else { return [] }
    log.warning("the ends of \(waiting.count) transfers wait for what they have received: \(error)")
    endsAwaitingStorage += waiting
    storageIsSuspect(after: error)
    return Set(waiting)
  }

  /// Their files are looked for once more.
  func releaseEndsAwaitingStorage() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !endsAwaitingStorage.isEmpty else { return }
    gatheredEnds.release(endsAwaitingStorage, at: clock.now)
    endsAwaitingStorage = []
  }

  /// The service ends. The next one has these transfers as they were, and no caller was told of their ends.
  private func giveUpEndsAwaitingStorage() {
    guard !endsAwaitingStorage.isEmpty else { return }
    gatheredEnds.giveUp(endsAwaitingStorage)
    endsAwaitingStorage = []
  }

  /// Those that are still to be written: a transfer may have gone with its session.
  private func ends(of ids: [TransferID]) -> [TransferStore.End] {
    let states = ids.compactMap { id -> (TransferID, TransferMachine.End)? in
      guard case .finishing(let end) = transfers[id]?.machine.state else { return nil }
      return (id, end)
    }
    let cancelled = states.filter { $1.isCancellation }.map(\.0)
    var outlines: [TransferID: TransferStore.Outline] = [:]
    do { outlines = cancelled.isEmpty ? [:] : try store.outlines(of: cancelled) } catch {
      log.error("\(cancelled.count) cancelled transfers end without their URLs: \(error)")
    }
    let kept = filesKept(of: states.filter { if case .failure = $1 { true } else { false } }.map(\.0))
    return states.map { id, end in
      var hasFile = false
      if case .file = end { hasFile = true }
      var completion = completion(end, of: id, outlines[id])
      addSentBytes(to: &completion, of: id)
      if case .failure = end { completion.resumePoint = transfers[id]?.resumePoint }
      if let path = kept[id] {
        completion.failure?.message += " \(TransferEngine.sentence(ofFileKeptAt: path))"
      }
      completion.transactions = transactions.latest(id)
      return TransferStore.End(
        transfer: id, hasFile: hasFile, completion: completion, responseIsInQueue: end.isCancellation)
    }
  }

  /// The paths of files of failed transfers whose ends were lost with a crash or the queue.
  func filesKept(of failed: [TransferID]) -> [TransferID: String] {
    guard !failed.isEmpty else { return [:] }
    do { return try files.completeSetAside(failed) } catch {
      log.warning("files that were set aside were not looked for: \(error)")
      return [:]
    }
  }

  static func sentence(ofFileKeptAt path: String) -> String {
    "A file that had been loaded before is kept in \(path)."
  }

  /// So many ends at most are sealed in a turn of the engine: some milliseconds.
  static let endsSealedInTurn = 50

  private func write(_ ends: [TransferStore.End]) {
    guard !ends.isEmpty else { return gatheredEnds.written() }
    whenWritten { ended in
      finish(ends) { ended(.success($0)) }
    } then: { engine, results in
      if case .success(let results) = results { engine.ended(zip(ends, results)) }
    }
  }

  /// Requests are handled while more than a few ends are sealed. No other ends are taken meanwhile, so their order stays; what
  /// else is written of these transfers may come before them, as while they were gathered.
  private func finish(
    _ ends: [TransferStore.End], ended: @escaping @Sendable ([Result<Int, any Error>]) -> Void
  ) {
    let (store, date) = (self.store, clock.date)
    guard ends.count > TransferEngine.endsSealedInTurn else { return store.finish(ends, date: date, ended: ended) }
    sealingQueue.async { store.finish(ends, date: date, ended: ended) }
  }

  private func ended(_ results: some Sequence<(TransferStore.End, Result<Int, any Error>)>) {
    var written: [WrittenEnd] = []
    var failed: [(TransferStore.End, any Error)] = []
    for (end, result) in results {
      switch result {
      case .success(let count):
        written.append(WrittenEnd(end: end, events: count))
        // It goes to the app with the event, so no caller that cancels it is given the same file.
        if end.completion.resumePoint != nil { transfers.update(end.transfer) { $0.resumePoint = nil } }
      case .failure(let error): failed.append((end, error))
      }
    }
    if let (end, error) = failed.first {
      log.error(
        """
        the ends of \(failed.count) transfers could not be written and will be again; that of transfer \
        \(end.transfer): \(error)
        """)
    }
    notWritten(failed.map(\.0))
    if !written.isEmpty { Failpoint.afterEventBeforeAcknowledgement.pass(state: files.directory) }
    for end in written.map(\.end) {
      let sentence = end.completion.failure?.message ?? "\(end.completion.countOfBytesReceived) bytes"
      log.info("transfer \(end.transfer) is over: \(sentence)")
    }
    withdrawFiles(of: written)
  }

  private struct WrittenEnd: Sendable {
    let end: TransferStore.End
    /// How many there are of it.
    var events: Int
    /// Its file was withdrawn, or could not be.
    var isWithdrawn = false
  }

  /// Cancellations that came while the ends were being written win over files, of which apps have not been told. None of the
  /// ends is told before that is in the queue: their events are read in order, those that are withdrawn among them.
  private func withdrawFiles(of ends: [WrittenEnd]) {
    let late = ends.indices.filter { index in
      let end = ends[index]
      return !end.isWithdrawn && end.end.hasFile && transfers[end.end.transfer]?.machine.isCancelledLate == true
    }
    guard !late.isEmpty else { return tell(ends) }
    let losses = late.compactMap { index -> TransferStore.FileLoss? in
      let end = ends[index].end
      guard let session = transfers[end.transfer]?.session else { return nil }
      let failure = cancellation(of: end.transfer, end.completion.response?.url)
      return TransferStore.FileLoss(transfer: end.transfer, session: session, failure: failure)
    }
    whenWritten { ended in
      store.filesAreLost(losses) { ended(.success($0)) }
    } then: { engine, results in
      if case .success(let results) = results { engine.withdrawn(late, of: ends, results) }
    }
  }

  private func withdrawn(_ late: [Int], of ends: [WrittenEnd], _ results: [Result<Int, any Error>]) {
    var ends = ends
    for (index, result) in zip(late, results) {
      let id = ends[index].end.transfer
      ends[index].isWithdrawn = true
      if let session = transfers[id]?.session { sessions.update(session) { $0.readEvents = ReadEvents() } }
      switch result {
      case .success(let removed):
        ends[index].events -= removed
        removeFiles(.undelivered(id))
      case .failure(let error): log.error("transfer \(id) was cancelled too late: \(error)")
      }
    }
    // More may have come meanwhile.
    withdrawFiles(of: ends)
  }

  private func tell(_ ends: [WrittenEnd]) {
    gatheredEnds.written()
    var appended: [SessionID: Int] = [:]
    for written in ends {
      // Those of a session that has gone meanwhile have gone with it.
      if let session = transfers[written.end.transfer]?.session { appended[session, default: 0] += written.events }
    }
    // In this order: callers that cancelled hear of it before the events are sent.
    for written in ends { post(.endWritten, to: written.end.transfer) }
    for (session, count) in appended.sorted(by: { $0.key < $1.key }) { post(.eventsAppended(count), to: session) }
  }

  private func notWritten(_ ends: [TransferStore.End]) {
    // A transfer is not over until its end is on the disk. Its file waits under its complete name.
    for end in ends {
      unmarkRun(end.transfer)
      transfers.update(end.transfer) { $0.isExportTried = false }
      post(.endNotWritten, to: end.transfer)
    }
  }

  private func wantsResumePoint(_ id: TransferID) -> Bool {
    guard let transfer = transfers[id] else { return false }
    if case .finishing(.cancelled(wantsResumePoint: true)) = transfer.machine.state { return true }
    // One that came while the end was gathered.
    return transfer.cancellationReplies.contains { $0.takesResumePoint }
  }
}

extension TransferMachine.End {
  fileprivate var isCancellation: Bool { if case .cancelled = self { true } else { false } }
}
