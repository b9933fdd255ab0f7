import Foundation
import SystemServices
import TransferProtocol

extension TransferEngine {
  static let resourceTimeout: TimeInterval = 7 * 86_400

  /// The scheduler has chosen a transfer to run.
  func start(_ id: TransferID) {
    guard let transfer = transfers[id], let session = sessions[transfer.session], transfer.run == nil else {
      return scheduler.remove(id)
    }
    do {
      guard let stored = try store.transfer(id) else { return drop(id) }
      let options = session.stored.options
      guard !stored.isDamaged else { return failDamaged(id) }
      if let point = stored.description.resumePoint, !transfer.hasTriedTakeOver, stored.head.committedOffset == 0 {
        // An earlier life did not come to that.
        takeOver(point, for: id, validator: stored.validator)
        if transfers[id]?.run != nil { return }
      }
      let remaining = try remainingTime(of: stored, limit: TransferEngine.resourceLimit(options))
      guard remaining > 0 else { return timeOut(id, stored) }
      let job = DownloadJob(stored, options: options, remainingTime: remaining)
      transfers[id]?.run = runner.start(
        job, report: { report in self.queue.async { self.reported(report, by: id) } },
        ended: { outcome in self.queue.async { self.ended(id, outcome) } })
      log.debug("transfer \(id) runs from \(stored.head.committedOffset)")
      pushState(of: id)
    } catch {
      log.error("transfer \(id) could not be started: \(error)")
      retryLater(id, after: 5, because: "The queue could not be read: \(error)", counts: false)
    }
  }

  /// Seconds for the whole resource; an interval that is not positive and finite means that there is no limit.
  private static func resourceLimit(_ options: SessionOptions) -> TimeInterval {
    let limit = options.timeoutIntervalForResource ?? resourceTimeout
    return limit > 0 && limit.isFinite ? limit : .infinity
  }

  /// What is left of the limit. Across a restart of the machine only the wall clock tells how much has passed, and it
  /// may have been set: it takes half of the limit at most, and is not asked again about the same restart.
  private func remainingTime(of stored: StoredTransfer, limit: TimeInterval) throws -> TimeInterval {
    guard let started = stored.started else {
      try store.setStarted(DurableInstant(clock.now, clock: clock), of: stored.head.id)
      return limit
    }
    guard limit.isFinite else { return limit }
    let instant = started.instant(on: clock, past: limit / 2, future: 0)
    if started.bootID != clock.bootID {
      try store.setStarted(DurableInstant(instant, clock: clock), of: stored.head.id)
    }
    return limit - (clock.now - instant)
  }

  /// What the queue has of it can't be read. The others go on; this one is told as failed.
  private func failDamaged(_ id: TransferID) {
    log.error("transfer \(id) is damaged in the queue")
    let failure = TransferFailure(
      domain: NSURLErrorDomain, code: URLError.Code.unknown.rawValue,
      message: "The transfer service's record of the transfer is damaged.")
    finish(id, hasFile: false, completion: completion(failure, nil, of: id))
  }

  private func timeOut(_ id: TransferID, _ stored: StoredTransfer) {
    let failure = TransferFailure(
      domain: NSURLErrorDomain, code: URLError.Code.timedOut.rawValue,
      message: "The time for the whole resource is over.", url: stored.description.request.url)
    finish(id, hasFile: false, completion: completion(failure, stored.response, of: id))
  }

  private func reported(_ report: DownloadReport, by id: TransferID) {
    guard let transfer = transfers[id], let session = sessions[transfer.session] else { return }
    let (name, task) = (session.stored.identifier, transfer.taskIdentifier)
    switch report {
    case .responded(let response):
      transfers[id]?.expectedTotal = response.expectedContentLength
      transfers[id]?.statusBase?.httpStatus = response.status
      push(.responseReceived(ResponseReceived(session: name, taskIdentifier: task, response: response)), to: session)
    case .resumed(let offset, let total):
      transfers[id]?.received = offset
      transfers[id]?.expectedTotal = total
      push(
        .resumedAtOffset(
          ResumedAtOffset(session: name, taskIdentifier: task, offset: offset, expectedTotal: total)), to: session)
    case .progressed(let received, let total):
      if transfer.failures > 0 { forgetFailures(of: id) }
      transfers[id]?.received = received
      transfers[id]?.expectedTotal = total
      push(
        .progress(
          ProgressReport(
            session: name, taskIdentifier: task, totalBytesWritten: received, totalBytesExpectedToWrite: total)),
        to: session)
    }
    tellWatchers(id)
  }

  /// Bytes arrive: the failures before no longer make the next one worse.
  private func forgetFailures(of id: TransferID) {
    transfers[id]?.failures = 0
    do { try store.setRetry(failures: 0, because: nil, at: nil, of: id) } catch {
      log.warning("the failures of transfer \(id) are still noted: \(error)")
    }
  }

  func ended(_ id: TransferID, _ outcome: DownloadOutcome) {
    guard let transfer = transfers[id] else { return considerStopped() }
    transfers[id]?.run = nil
    scheduler.remove(id)
    defer {
      schedule()
      considerStopped()
    }
    if transfer.isDiscarded { return drop(id) }

    if case .finished(let response, let count) = outcome {
      return finish(
        id, hasFile: true,
        completion: Completion(
          failure: nil, response: response, countOfBytesReceived: count, countOfBytesExpectedToReceive: count))
    }
    if transfer.cancellation != nil { return finishCancelled(id) }

    switch outcome {
    case .finished: break
    case .failed(let failure, let response, let received):
      transfers[id]?.received = received
      log.notice("transfer \(id) failed: \(failure.message)")
      finish(id, hasFile: false, completion: completion(failure, response, of: id))
    case .retry(let failure, let progressed, let received):
      transfers[id]?.received = received
      let failures = progressed ? 1 : transfer.failures + 1
      transfers[id]?.failures = failures
      guard transfer.state == .active, !isShuttingDown else { break }
      let seconds = RetryRule.delay(afterFailures: failures, jitter: .random(in: 0...1))
      retryLater(id, after: seconds, because: failure.message)
    case .noSpace(let needed, let available):
      guard transfer.state == .active, !isShuttingDown, let session = sessions[transfer.session] else { break }
      let reason = WaitingReason.noSpace(needed: needed, available: available)
      log.notice("transfer \(id) waits: \(reason.sentence)")
      enqueue(id, session: session, delay: .init(until: .instant(clock.now + 30), reason: reason))
      pushState(of: id)
    case .stopped(let received):
      transfers[id]?.received = received
      // Suspended, unless it was resumed before it had stopped.
      if transfer.state == .active, !isShuttingDown { enqueue(id) }
      pushState(of: id)
    }
  }

  /// Waits, and says why. `counts`: whether the failure is kept for the next life of the service.
  private func retryLater(_ id: TransferID, after seconds: TimeInterval, because sentence: String, counts: Bool = true)
  {
    guard let transfer = transfers[id], let session = sessions[transfer.session] else { return }
    let instant = clock.now + seconds
    let failures = max(1, transfer.failures)
    enqueue(
      id, session: session,
      delay: .init(until: .instant(instant), reason: .retry(because: sentence, failures: failures)))
    if counts {
      do {
        try store.setRetry(
          failures: failures, because: sentence, at: DurableInstant(instant, clock: clock), of: id)
      } catch { log.error("the retry of transfer \(id) could not be noted: \(error)") }
    }
    log.info("transfer \(id) will be tried again in \((seconds * 10).rounded() / 10) s: \(sentence)")
    pushState(of: id)
    schedule()
  }

  func completion(_ failure: TransferFailure, _ response: ResponseSummary?, of id: TransferID) -> Completion {
    Completion(
      failure: failure, response: response, countOfBytesReceived: transfers[id]?.received ?? 0,
      countOfBytesExpectedToReceive: transfers[id]?.expectedTotal ?? -1)
  }

  /// Writes the end of a transfer down; once that is done, tells it.
  func finish(_ id: TransferID, hasFile: Bool, completion: Completion) {
    guard let transfer = transfers[id] else { return }
    scheduler.remove(id)
    do {
      try store.finish(id, hasFile: hasFile, completion: completion, date: clock.date)
    } catch {
      // The transfer is not over until that is on the disk. Its file waits under its complete name.
      log.error("the end of transfer \(id) could not be written and will be again: \(error)")
      after(settings.storagePatience) { $0.finish(id, hasFile: hasFile, completion: completion) }
      return
    }
    runner.failpoint(.afterEventBeforeAcknowledgement)
    if !hasFile {
      do { try files.disk.remove(files.partial(id)) } catch { log.warning("\(error)") }
    }
    log.info("transfer \(id) is over: \(completion.failure?.message ?? "\(completion.countOfBytesReceived) bytes")")
    forget(id)
    reply(to: transfer.cancellation)
    tellWatchers(id)
    pump(transfer.session)
    considerSession(transfer.session)
  }

  /// Takes a transfer out of what is live; the store keeps what is to be kept.
  func forget(_ id: TransferID) {
    guard let transfer = transfers.removeValue(forKey: id) else { return }
    scheduler.remove(id)
    sessions[transfer.session]?.unfinished[transfer.taskIdentifier] = nil
  }

  /// A transfer whose session was invalidated: nothing of it stays.
  private func drop(_ id: TransferID) {
    reply(to: transfers[id]?.cancellation)
    forget(id)
    removeFiles(of: [id])
    considerIdle()
  }

  func removeFiles(of ids: [TransferID]) {
    for id in ids {
      do {
        try files.disk.remove(files.partial(id))
        try files.removeDelivered(id)
      } catch { log.warning("a file of transfer \(id) could not be removed: \(error)") }
    }
  }
}
