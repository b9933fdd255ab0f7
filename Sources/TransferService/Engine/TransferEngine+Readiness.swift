import Foundation
import SystemServices
import TransferProtocol

/// Finds out how a transfer begins that the scheduler has chosen.
extension TransferEngine {
  /// Seconds after which a keychain or a file that can't be read is asked again.
  static let keychainPause: TimeInterval = 30

  func readiness(of id: TransferID) -> TransferMachine.Readiness {
    dispatchPrecondition(condition: .onQueue(queue))
    // Others were chosen with it, and the storage failed at one of them.
    if let fault = storage.fault { return .held(delay(0, .storageUnavailable(because: fault))) }
    guard let transfer = transfers[id], let session = sessions[transfer.session] else {
      return .held(delay(settings.storagePatience, .storageUnavailable(because: "Its session is not known.")))
    }
    if let delay = discretionaryDelay(of: id) {
      log.info("transfer \(id) does not run yet: \(delay.reason.sentence)")
      return .held(delay)
    }
    guard !awaitsChange(transfer) else {
      return .held(delay(settings.storagePatience, .requestChange))
    }
    guard !givenUpApps.contains(session.app) else {
      // Until its end is written, which is under way.
      let sentence = "Its app did not connect for so long that it ends."
      return .held(delay(settings.removalPatience, .storageUnavailable(because: sentence)))
    }
    if let delay = waitToBeAsked(id) { return .held(delay) }
    do {
      guard let stored = try store.transfer(id) else { return .unknown }
      guard !stored.isDamaged else {
        // Its record can't be read. The others go on; this one fails.
        log.error("transfer \(id) is damaged in the queue")
        return .impossible(lost(id, because: "its record is damaged"), nil)
      }
      // Before a server is asked, which would only tell the length again.
      let needed = transfer.machine.neededSpace
      if let needed, let available = try files.shortage(of: needed, unclaimed: runner.unclaimed) {
        return .noSpace(needed: needed, available: available)
      }
      if needed == 0, !hasProvenRoom() { return .noSpace(needed: 0, available: 0) }
      if transfer.machine.resumeFile == .untried, let file = try fileToImport(stored) { return .importFirst(file) }
      if let shortage = try overQuota(id) { return .overQuota(shortage) }
      if awaitsKey(stored) {
        return .held(delay(settings.storagePatience, .keychain(because: "The keychain is being read.")))
      }
      let opened: StoredTransfer
      switch restoreFields(of: session.id) ?? self.opened(stored) {
      case .open(let transfer): opened = transfer
      case .locked(let cause): return awaitKey("The header fields of the request are sealed, and \(cause).", cause)
      case .lost: return .impossible(lostFields(of: stored), stored.response)
      }
      if case .locked(let cause) = copyKey(of: stored) {
        return awaitKey("The copy of the file to send is sealed, and \(cause).", cause)
      }
      guard let session = sessions[session.id] else { return .unknown }
      let remaining = remainingTime(of: stored, limit: ResourceTime.limit(session.options))
      guard remaining > 0 else { return .impossible(.timedOut(stored.description.request.url), stored.response) }
      if let delay = delayedRequestWait(of: id) { return .held(delay) }
      let pauses = RetryPauses(opened.description.retry ?? session.options.retry)
      return .start(
        TransferMachine.Start(stored: opened, remainingTime: remaining, neededSpace: needed, pauses: pauses))
    } catch { return unreadable(error, id) }
  }

  /// The file to begin with, where an earlier life of the service ended before it imported it or removed its name, or it could not
  /// be imported then.
  private func fileToImport(_ stored: StoredTransfer) throws -> TransferMachine.ResumeImport? {
    let (id, placed) = (stored.head.id, stored.head.committedOffset)
    guard let point = stored.description.resumePoint, placed == 0 || files.partHasOtherName(id) else { return nil }
    var file = try importer.file(point, validator: stored.validator, for: id, of: stored.app)
    file?.placed = placed
    return file
  }

  /// The wait of a transfer whose record can't be read. Where that is the storage's fault, one probe is made for all.
  func unreadable(_ error: any Error, _ id: TransferID) -> TransferMachine.Readiness {
    dispatchPrecondition(condition: .onQueue(queue))
    log.error("transfer \(id) could not be started: \(error)")
    let fault = StorageFault.sentence(ofReading: error, in: files.directory)
    if let fault { storageFailed(fault) }
    // Longer than the probe takes: it may be this record alone, which is to keep no other transfer from starting.
    let pause = 2 * settings.storagePatience
    return .held(delay(pause, .storageUnavailable(because: fault ?? "The queue can't be read: \(error).")))
  }

  private func delay(_ seconds: TimeInterval, _ reason: WaitingReason) -> Scheduler.Delay {
    Scheduler.Delay(until: .instant(clock.now + seconds), reason: reason)
  }

  /// The key is at a place that can't be read now.
  private func awaitKey(_ sentence: String, _ cause: String) -> TransferMachine.Readiness {
    // It may be readable by now.
    openKey()
    let isKeychain = cause == QueueKey.keychainIsLocked
    return .held(
      delay(
        TransferEngine.keychainPause,
        isKeychain ? .keychain(because: sentence) : .storageUnavailable(because: sentence)))
  }

  private func remainingTime(of stored: StoredTransfer, limit: TimeInterval) -> TimeInterval {
    // That of the queue may be about to be written.
    guard let started = transfers[stored.head.id]?.started ?? stored.started else {
      let start = ResourceTime.start(earliestBegin: nil, clock: clock)
      transfers.update(stored.head.id) { $0.started = start }
      noteStart(start, of: stored.head.id)
      return limit
    }
    guard limit.isFinite else { return limit }
    let instant = ResourceTime.start(
      started, limit: limit, earliestBegin: stored.head.earliestBegin, clock: clock)
    return limit - max(0, clock.now - instant)
  }

  /// The time begins with the next start where this is lost with a crash.
  private func noteStart(_ start: DurableInstant, of id: TransferID) {
    write {
      store.setStarted([id: start], ended: $0)
    } failed: { engine, error in
      engine.log.error("the start of transfer \(id) could not be noted: \(error)")
    }
  }
}
