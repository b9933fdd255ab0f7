import Foundation
import SystemServices
import TransferProtocol

/// Performs the actions of a transfer's machine.
extension TransferEngine {
  func apply(_ event: TransferMachine.Event, to id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    // No copy of the transfer: with one, each change of its callers would copy all of them.
    guard let earlier = transfers[id]?.machine, let session = transfers[id]?.session else { return }
    let actions = transfers.handle(event, for: id, at: Moment(clock))
    if let machine = transfers[id]?.machine { announce(machine, after: earlier, to: session) }
    if transfers[id]?.machine.stopsTime != earlier.stopsTime { stopOrContinueTime(of: id) }
    for action in actions { perform(action, for: id) }
    if transfers[id]?.machine.mayRunOutOfTime != earlier.mayRunOutOfTime { watchDeadline(of: id) }
    if transfers[id]?.machine.awaitsStorage == true { transfers.update(id) { $0.postponeCancellations() } }
    if case .blocked = transfers[id]?.machine.state { refuseCancellations(of: id) }
    if earlier.isBusy { editAfterRun(id) }
  }

  /// In this order: between the two, the session must not look as if nothing was to be waited for.
  private func announce(_ machine: TransferMachine, after earlier: TransferMachine, to session: SessionID) {
    if machine.needsApp, !earlier.needsApp { post(.transferNeedsApp, to: session) }
    if machine.isActive != earlier.isActive {
      post(machine.isActive ? .transferBecameActive : .transferBecameInactive, to: session)
    }
    if !machine.needsApp, earlier.needsApp { post(.transferNeedsNoApp, to: session) }
  }

  func perform(_ action: TransferMachine.Action, for id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    switch action {
    case .schedule, .unschedule, .announceState, .setStorageTimer: waitingReasonChanged(id)
    default: break
    }
    switch action {
    case .schedule(let delay): schedule(id, delay: delay)
    case .unschedule: scheduler.remove(id)
    case .importResumeFile(let file): importResumeFile(file, for: id)
    case .run(let start): run(start, id)
    case .stopRun: runs[id]?.stop()
    case .stopRunIfRepeatable: runs[id]?.stopIfRepeatable()
    case .saveRetry(let failures, let sentence, let instant, let kind):
      saveRetry(of: id, failures: failures, because: sentence, at: instant, kind)
    case .forgetFailures: saveRetry(of: id, failures: 0, because: nil, at: nil)
    case .writeEnd: writeEnd(of: id)
    case .setStorageTimer:
      setTimer(.end(id), in: settings.storagePatience) { $0.apply(.storageTimerFired, to: id) }
    case .cancelStorageTimer: timers.cancel(.end(id))
    case .announceState: tellWatchers(of: id)
    case .removeFiles:
      countGivenUpPart(of: id)
      removeFiles(.undelivered(id))
    case .retire: retire(id)
    }
  }

  private func schedule(_ id: TransferID, delay: Scheduler.Delay?) {
    guard let transfer = transfers[id], let session = sessions[transfer.session] else { return }
    scheduler.add(
      Scheduler.Candidate(
        id: id, app: session.app, session: session.id, host: transfer.host, priority: transfer.priority,
        sessionLimit: session.connectionsPerHost(default: settings.limits.perHost), delay: delay,
        since: clock.now, isSuspect: transfer.crashes > 0))
  }

  // MARK: Running

  private func importResumeFile(_ file: TransferMachine.ResumeImport, for id: TransferID) {
    guard let session = transfers[id]?.session, let app = sessions[session]?.app else {
      return post(.importEnded, to: id)
    }
    importer.start(file, for: id, of: app) { end in self.enter { $0.importEnded(end, id) } }
  }

  private func importEnded(_ end: ResumeFileImporter.End, _ id: TransferID) {
    switch end {
    case .placed(let count):
      transfers.update(id) { $0.received = count }
      apply(.importEnded, to: id)
    case .postponed(let obstacle):
      if case .storage(let sentence) = obstacle { storageFailed(sentence) }
      apply(.importPostponed(obstacle.reason), to: id)
    }
  }

  private func run(_ start: TransferMachine.Start, _ id: TransferID) {
    if let session = transfers[id]?.session { restoreLogins(of: session) }
    guard let transfer = transfers[id], let session = sessions[transfer.session] else { return }
    log.info("transfer \(id) runs from \(start.stored.head.committedOffset)")
    // The key seals its answer.
    if !key.hasSettled { openKey() }
    hasSealedFields = true
    var job = DownloadJob(start.stored, options: session.options, remainingTime: start.remainingTime)
    job.connectionQuestions = session.connectionQuestions
    job.password = password(of: start.stored)
    if case .known(let key?) = copyKey(of: start.stored) { job.copyKey = key }
    job.neededSpace = start.neededSpace
    job.countedBytes = transfer.machine.countedBytes
    // The queue may be told of the last ones later.
    job.failures = transfer.machine.failures
    job.doubtfulFailures = transfer.machine.doubtfulFailures
    job.isAttended = session.machine.receiver != nil
    limit(id, as: start.stored.description)
    markRun(id)
    tries.began(id, offset: job.committedOffset, at: Moment(clock))
    let pace = pace(of: id)
    job.pace = pace
    transfers.update(id) {
      $0.pace = pace
      $0.rate = ShownRate(at: clock.now)
      $0.repeatability = RunRepeatability(job)
      $0.delayedRequest = .settled
    }
    tellRepeatability(of: id)
    discretionaryRunBegan(id)
    countRun(id, received: job.committedOffset)
    runs[id] = runner.start(
      job, report: { report in self.enter { $0.reported(report, by: id) } },
      ended: { outcome in self.enter { $0.runEnded(outcome, id) } })
  }

  private func runEnded(_ outcome: DownloadOutcome, _ id: TransferID) {
    runs[id] = nil
    tries.ended(outcome, of: id, because: outcome.summary, at: Moment(clock))
    transfers.update(id) { ($0.pace, $0.rate, $0.repeatability) = (nil, nil, nil) }
    withdrawQuestions(by: id)
    if let received = outcome.received { transfers.update(id) { $0.received = received } }
    log.info("transfer \(id) stopped running: \(outcome.summary)")
    if case .storageUnavailable(let sentence, _, _) = outcome { storageFailed(sentence) }
    if !outcome.wasStopped { acquit(id) }
    countEndOfRun(id, received: outcome.received)
    apply(.runEnded(outcome, jitter: .random(in: 0...1)), to: id)
    unmarkWhenNoted(id)
    // The app has come back since it was missed.
    if let transfer = transfers[id], transfer.machine.needsApp, sessions[transfer.session]?.machine.receiver != nil {
      post(.appIsReady, to: id)
    }
  }

  private func saveRetry(
    of id: TransferID, failures: Int, because sentence: String?, at instant: BootInstant?,
    _ kind: PlannedTry.Kind = .failure
  ) {
    if let instant {
      let date = clock.date + max(0, instant - clock.now)
      log.info(
        "transfer \(id) has failed \(failures == 1 ? "once" : "\(failures) times in a row"); it is tried again at \(date.ISO8601Format())"
      )
    }
    let planned = instant.map { PlannedTry(DurableInstant($0, clock: clock), kind) }
    transfers.update(id) { $0.retryNotes += 1 }
    whenWritten {
      store.setRetry(failures: failures, because: sentence, at: planned, of: id, ended: $0)
    } then: { engine, result in
      if case .failure(let error) = result {
        engine.log.error("the failures of transfer \(id) could not be noted: \(error)")
      }
      engine.transfers.update(id) { $0.retryNotes -= 1 }
      engine.unmarkWhenNoted(id)
    }
  }

  /// A crash while the end or the failure of a run is written counts as well: the next service would not know of either.
  private func unmarkWhenNoted(_ id: TransferID) {
    guard runs[id] == nil, let transfer = transfers[id], transfer.retryNotes == 0, !transfer.machine.awaitsStorage
    else { return }
    unmarkRun(id)
  }

  // MARK: The end

  private func writeEnd(of id: TransferID) {
    gatheredEnds.add(id, at: clock.now)
  }

  /// - Parameter outline: of a transfer that is cancelled.
  func completion(
    _ end: TransferMachine.End, of id: TransferID, _ outline: TransferStore.Outline?
  ) -> Completion {
    dispatchPrecondition(condition: .onQueue(queue))
    func ended(_ failure: TransferFailure, _ response: ResponseSummary?) -> Completion {
      Completion(
        failure: failure, response: response, countOfBytesReceived: transfers[id]?.received ?? 0,
        countOfBytesExpectedToReceive: transfers[id]?.expectedTotal ?? -1)
    }
    switch end {
    case .file(let response, let count):
      return Completion(
        failure: nil, response: response, countOfBytesReceived: count, countOfBytesExpectedToReceive: count)
    case .failure(let failure, let response): return ended(failure, response)
    case .cancelled: return ended(cancellation(of: id, outline?.url), outline?.response)
    }
  }

  /// Forgets a transfer that is over; the queue keeps its history.
  private func retire(_ id: TransferID) {
    guard let transfer = transfers.remove(id) else { return }
    transfer.editAfterRun?(false)
    withdrawQuestions(by: id)
    questions.forgetWaiting(id, transfer.session)
    unmarkRun(id)
    removeUpload(of: transfer)
    passwords.forget(id)
    transactions.forget(id)
    bandwidth.set(LimitTable(), of: .task(id))
    bandwidth.set(LimitTable(), of: .transfer(id))
    watchConditions()
    transfersAwaitingKey.remove(id)
    transfersAwaitingChange.remove(id)
    sessions.update(transfer.session) { $0.forget(id, taskIdentifier: transfer.taskIdentifier) }
    transfer.replyToCancellations()
    for reply in transfer.cancellationReplies {
      waitingCancellations.end(reply.app)
      clients[reply.client.id]?.cancelling.remove(id)
    }
    tellWatchers(of: id)
    post(.transferEnded, to: transfer.session)
  }
}

extension DownloadOutcome {
  /// The bytes that are on the disk; nil where that is not said.
  var received: Int64? {
    switch self {
    case .finished(_, let count): count
    case .failed(_, _, let received), .retry(_, _, let received), .stopped(let received),
      .refused(_, _, let received), .storageUnavailable(_, _, let received), .needsApp(_, let received):
      received
    case .noSpace: nil
    }
  }

  /// For the log.
  fileprivate var summary: String {
    switch self {
    case .finished: "its file is complete"
    case .failed(let failure, _, _): "it failed: \(failure.message)"
    case .retry(let failure, _, _): "it will be tried again: \(failure.message)"
    case .refused(let refusal, let kept, _):
      WaitingReason.serverBusy(status: refusal.status, keepsBytes: kept.count > 0).sentence
    case .noSpace(let needed, let available): WaitingReason.noSpace(needed: needed, available: available).sentence
    case .needsApp(let sentence, _), .storageUnavailable(let sentence, _, _): sentence
    case .stopped: "it was told to"
    }
  }
}

extension TransferEngine {
  /// The end of a transfer that was cancelled, with the reason where its app did not do it.
  func cancellation(of id: TransferID, _ url: String?) -> TransferFailure {
    var failure = TransferFailure.cancelled(url)
    guard transfers[id]?.isCancelledByUser == true else { return failure }
    failure.message = "The user cancelled the transfer."
    failure.cancelReason = URLError.BackgroundTaskCancelledReason.userForceQuitApplication.rawValue
    return failure
  }
}

extension TransferFailure {
  static func cancelled(_ url: String?) -> TransferFailure {
    TransferFailure(
      domain: NSURLErrorDomain, code: URLError.Code.cancelled.rawValue, message: "The transfer was cancelled.", url: url
    )
  }
}
