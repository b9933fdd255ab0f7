import Dispatch
import SystemServices

/// A machine that sleeps may not wake: its battery may run empty. What transfers have is on the disk before it sleeps, and what
/// waits is looked at anew when it has woken (decision 296).
extension TransferEngine {
  /// Follows the sleep of the machine from the first transfer that is to move until the service rests.
  func watchSleep() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let reporter = settings.sleep, isServing, !isWatchingSleep, transfers.activeCount > 0 else { return }
    isWatchingSleep = true
    reporter.start { [weak self] change in
      guard let self else {
        if case .falls(let ready) = change { ready() }
        return
      }
      enter { $0.sleepChanged(change) }
    }
  }

  func endWatchingSleep() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isWatchingSleep else { return }
    isWatchingSleep = false
    settings.sleep?.stop()
  }

  private func sleepChanged(_ change: SleepChange) {
    switch change {
    case .falls(let ready): prepareForSleep(ready)
    case .ended:
      log.info("the machine has woken")
      lookAnew()
      networkChanged()
      conditionsChanged()
    }
  }

  private func prepareForSleep(_ ready: @escaping @Sendable () -> Void) {
    log.info("the machine is about to sleep; what \(runs.count) transfers have is written to the disk")
    let unwritten = DispatchGroup()
    for run in runs.values {
      unwritten.enter()
      run.checkpoint { unwritten.leave() }
    }
    unwritten.enter()
    store.database.whenWritten { unwritten.leave() }
    unwritten.notify(queue: queue, execute: ready)
  }
}
