import Foundation
import SystemServices
import TransferProtocol

/// Finds the transfer over which the service crashes. Those that ran at a crash are tried one after the other, and one
/// that ran at several crashes, without progress between them, is set aside: it keeps what it has and stands still until its
/// user or its app resumes it, or its time is over.
extension TransferEngine {
  func markRun(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    do { try runMarks.set(id) } catch { log.warning("a crash would not be counted to transfer \(id): \(error)") }
  }

  func unmarkRun(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    do { try runMarks.clear(id) } catch { log.warning("a crash would be counted to transfer \(id): \(error)") }
  }

  func renewRunMarks() {
    dispatchPrecondition(condition: .onQueue(queue))
    do { try runMarks.renew() } catch {
      log.warning("a crash would not be counted to the transfers that run: \(error)")
    }
  }

  /// An earlier service may have ended while transfers ran.
  func countCrashes() throws {
    dispatchPrecondition(condition: .onQueue(queue))
    // In this order: a service that ends in between counts none rather than two.
    let transfers = try runMarks.takeAll { name, error in
      log.warning("the mark \(name.logText) of a run was not removed and does not count: \(error)")
    }
    guard !transfers.isEmpty else { return }
    guard settings.countsCrashes else {
      return log.warning("the service was killed while it ran \(transfers.sorted().logText), which counts against none")
    }
    log.error("the service ended unexpectedly while it ran \(transfers.sorted().logText)")
    try store.countCrash(of: transfers)
  }

  /// Whether it stands still because of its crashes, where its user does not hold it as well.
  func isSetAside(_ head: StoredTransferHead) -> Bool {
    !head.isHeld && head.crashes >= settings.crashesPerTransfer
  }

  /// It is resumed, which the queue has. It may run at as many crashes as any other.
  func forgetCrashesOfResumed(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let crashes = transfers[id]?.crashes, crashes >= settings.crashesPerTransfer else { return }
    transfers.update(id) { $0.crashes = 0 }
  }

  /// It came further than it ever did, or its run ended in order. No other transfer starts until that is in the queue.
  func acquit(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], transfer.crashes > 0 else { return }
    transfers.update(id) { $0.crashes = 0 }
    scheduler.beginAcquittal(of: id)
    whenWritten {
      store.forgetCrashes(of: id, ended: $0)
    } then: { engine, result in
      engine.scheduler.endAcquittal(of: id)
      if case .failure(let error) = result {
        engine.log.warning("after a restart of the service, transfer \(id) may be tried alone: \(error)")
      }
    }
  }
}

extension DownloadOutcome {
  /// The service has told it to stop, which says nothing of what it would have done.
  var wasStopped: Bool { if case .stopped = self { true } else { false } }
}
