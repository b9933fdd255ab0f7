import Foundation
import SystemServices

/// Looks for what is kept for too long: tasks of apps that do not come back, history, and folders of remains.
extension TransferEngine {
  /// Called at the start of the service, and from then on by itself.
  func keepUp() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isServing else { return }
    whenWritten {
      store.countAbsence(at: clock.date, present: sessions.attachedApps, ended: $0)
    } then: { engine, result in
      engine.absenceIsCounted(result)
    }
    shortenHistory()
    cleanRemains()
    let interval = settings.upkeepInterval
    setTimer(.upkeep, in: givesTimeToConnect ? min(interval, settings.absenceGrace) : interval) { $0.keepUp() }
  }

  /// The service may have been started by the very app that was away for so long, which connects only after the first upkeep.
  var givesTimeToConnect: Bool { clock.now - startedAt < settings.absenceGrace }

  private func cleanRemains() {
    let (files, ages, clock, log) = (self.files, settings.ages, self.clock, self.log)
    copyingQueue.async {
      let days = files.countKeptDays(clock: clock) {
        log.warning("the days for which things were kept were not counted: \($0)")
      }
      do {
        let count = try files.removeForgottenResumeFiles(at: clock.date, days)
        if count > 0 { log.notice("removed the files of \(count) resume points that no app has taken") }
      } catch { log.warning("files of resume points that no app has taken were not removed: \(error)") }
      do {
        let removed = try KeptRemains(directory: files.directory).clean(ages, days, at: clock.date) { folder, error in
          log.warning("\(folder.path), which was set aside, was not removed: \(error)")
        }
        for folder in removed {
          let date = folder.date.ISO8601Format()
          log.notice("removed \(folder.path) with \(folder.bytes) bytes, which was kept since \(date)")
        }
      } catch { log.warning("folders of things that were set aside were not removed: \(error)") }
    }
  }
}
