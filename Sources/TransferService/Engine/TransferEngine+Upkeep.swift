import Foundation
import SystemServices

/// Removes what is kept for too long: tasks, events and files of apps that do not come back, and folders of remains.
extension TransferEngine {
  /// Called at the start of the service, and from then on by itself.
  func keepUp() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isServing else { return }
    do {
      try store.countAbsence(at: clock.date)
      let days = min(settings.ages.absentApp, settings.ages.removedApp)
      for app in try store.absentApps(for: days) { forgetIfAbsent(app) }
    } catch { log.warning("apps that do not come back were not looked for: \(error)") }
    shortenHistory()
    cleanRemains()
    setTimer(.upkeep, in: settings.upkeepInterval) { $0.keepUp() }
  }

  private func forgetIfAbsent(_ app: TransferStore.AbsentApp) {
    let isGone = access(app.path, F_OK) != 0 && errno == ENOENT
    guard app.unseenDays >= (isGone ? settings.ages.removedApp : settings.ages.absentApp) else { return }
    do {
      let own = try store.sessions(of: app.id)
      // One that is connected is not absent, for however long it is.
      guard !own.contains(where: { sessions[$0]?.machine.attachment != nil }) else { return }
      log.notice(
        """
        \(app.path) \(isGone ? "is gone and " : "")did not connect on \(app.unseenDays) days on which the service ran; \
        its tasks, their events and their files are removed
        """)
      for id in own { try invalidate(id) }
    } catch { log.warning("the tasks of \(app.path) were not removed: \(error)") }
  }

  private func cleanRemains() {
    let (remains, ages, date, log) = (KeptRemains(directory: files.directory), settings.ages, clock.date, self.log)
    copyingQueue.async {
      do {
        let removed = try remains.clean(ages, at: date) { folder, error in
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
