import Foundation
import SystemServices
import TransferProtocol

/// Finds out how a transfer begins that the scheduler has chosen.
extension TransferEngine {
  static let resourceTimeout: TimeInterval = 7 * 86_400

  func readiness(of id: TransferID) -> TransferMachine.Readiness {
    guard let transfer = transfers[id], let session = sessions[transfer.session] else {
      return .unreadable("The session of the transfer is not known.", pause: settings.storagePatience)
    }
    do {
      guard let stored = try store.transfer(id) else { return .unknown }
      guard !stored.isDamaged else {
        // Its record can't be read. The others go on; this one fails.
        log.error("transfer \(id) is damaged in the queue")
        return .impossible(.damaged, nil)
      }
      // An earlier life of the service ended before it imported the file.
      if transfer.machine.resumeFile == .untried, stored.head.committedOffset == 0,
        let file = try importer.file(
          stored.description.resumePoint, validator: stored.validator, for: id, of: stored.app)
      {
        return .importFirst(file)
      }
      // Before a server is asked, which would only tell the length again.
      if let needed = transfer.machine.neededSpace, let available = try files.shortage(of: needed) {
        return .noSpace(needed: needed, available: available)
      }
      if awaitsKey(stored) { return .unreadable("The keychain is being read.", pause: settings.storagePatience) }
      let remaining = try remainingTime(of: stored, limit: TransferEngine.resourceLimit(session.options))
      guard remaining > 0 else { return .impossible(.timedOut(stored.description.request.url), stored.response) }
      return .start(TransferMachine.Start(stored: stored, remainingTime: remaining))
    } catch {
      log.error("transfer \(id) could not be started: \(error)")
      return .unreadable("The queue could not be read: \(error)", pause: settings.storagePatience)
    }
  }

  /// Seconds for the whole resource; an interval that is not positive and finite means that there is no limit.
  private static func resourceLimit(_ options: SessionOptions) -> TimeInterval {
    let limit = options.timeoutIntervalForResource ?? resourceTimeout
    return limit > 0 && limit.isFinite ? limit : .infinity
  }

  /// The rest of the limit. Across a restart of the machine only the wall clock tells how much has passed, and it
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
}

extension TransferFailure {
  fileprivate static let damaged = TransferFailure(
    domain: NSURLErrorDomain, code: URLError.Code.unknown.rawValue,
    message: "The transfer service's record of the transfer is damaged.")

  fileprivate static func timedOut(_ url: String) -> TransferFailure {
    TransferFailure(
      domain: NSURLErrorDomain, code: URLError.Code.timedOut.rawValue,
      message: "The time for the whole resource is over.", url: url)
  }
}
