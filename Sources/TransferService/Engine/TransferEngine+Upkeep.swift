import Foundation
import SystemServices

/// Removes what is kept for too long: tasks, events and files of apps that do not come back, and folders of remains.
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
  private var givesTimeToConnect: Bool { clock.now - startedAt < settings.absenceGrace }

  private func absenceIsCounted(_ result: Result<Void, any Error>) {
    guard isServing else { return }
    do { try result.get() } catch { return log.warning("days without an app were not counted: \(error)") }
    if !givesTimeToConnect { forgetAbsentApps() }
  }

  /// A service that has nothing to do ends before that time is over. It has waited for apps long enough then.
  ///
  /// - Returns: whether there was something to remove. It is done once.
  func forgetsAbsentAppsBeforeItsEnd() -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    return !hasForgottenApps && forgetAbsentApps()
  }

  @discardableResult private func forgetAbsentApps() -> Bool {
    hasForgottenApps = true
    do {
      let apps = try store.absentApps(for: min(settings.ages.absentApp, settings.ages.removedApp))
      for app in apps { forgetIfAbsent(app) }
      return !apps.isEmpty
    } catch {
      log.warning("apps that do not come back were not looked for: \(error)")
      return false
    }
  }

  private func forgetIfAbsent(_ app: TransferStore.AbsentApp) {
    let isGone = access(app.path, F_OK) != 0 && errno == ENOENT
    guard app.unseenDays >= (isGone ? settings.ages.removedApp : settings.ages.absentApp) else { return }
    do {
      let own = try store.sessions(of: app.id)
      // One that is connected, or is just connecting, is not absent, for however long it is.
      guard !changeLines.isBusy(.sessions(app.id)), !own.contains(where: { sessions[$0]?.machine.attachment != nil })
      else { return }
      log.notice(
        """
        \(app.path) \(isGone ? "is gone and " : "")did not connect on \(app.unseenDays) days on which the service ran; \
        its tasks, their events and their files are removed
        """)
      for id in own {
        whenWritten(changing: .sessions(app.id)) {
          store.invalidate(id, ended: $0)
        } then: { engine, result in
          switch result {
          case .success(let numbers): engine.invalidated(id, numbers)
          case .failure(let error): engine.log.warning("the tasks of \(app.path) were not removed: \(error)")
          }
        }
      }
    } catch { log.warning("the tasks of \(app.path) were not removed: \(error)") }
  }

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
