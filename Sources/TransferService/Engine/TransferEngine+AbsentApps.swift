import Foundation
import SystemServices
import TransferProtocol

/// Tasks of apps that do not come back. First lists tell when they are removed. Then they end with an error that the app hears of
/// if it comes, and what has arrived is set aside. As long again after that, nothing of them is kept.
extension TransferEngine {
  func absenceIsCounted(_ result: Result<Void, any Error>) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isServing else { return }
    do { try result.get() } catch { return log.warning("days without an app were not counted: \(error)") }
    lookAtAbsentApps(removes: !givesTimeToConnect)
  }

  /// A service that has nothing to do ends before that time is over. It has waited for apps long enough then.
  ///
  /// - Returns: whether there was something to remove. It is done once.
  func forgetsAbsentAppsBeforeItsEnd() -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    return !hasForgottenApps && lookAtAbsentApps(removes: true)
  }

  /// - Parameter removes: false: only the lists tell of them.
  /// - Returns: whether there may be something to remove.
  @discardableResult private func lookAtAbsentApps(removes: Bool) -> Bool {
    if removes { hasForgottenApps = true }
    do {
      let ages = settings.ages
      let removal = min(ages.absentApp, ages.removedApp)
      let apps = try store.absentApps(for: min(ages.toldAbsence, removal))
      let paths = Set(apps.map(\.path))
      absences = absences.filter { paths.contains($0.key) }
      for app in apps { lookForProgram(of: app, removes: removes) }
      return apps.contains { $0.unseenDays >= removal }
    } catch {
      log.warning("apps that do not come back were not looked for: \(error)")
      return false
    }
  }

  /// On a thread of its own: the file system that has the program may hang. That says nothing of the program.
  private func lookForProgram(of app: TransferStore.AbsentApp, removes: Bool) {
    searchesForPrograms += 1
    programThreads.call(at: .init(app: app.path), within: settings.programPatience) { _ in
      access(app.path, F_OK) != 0 && errno == ENOENT
    } ended: { isGone in
      self.enter { engine in
        engine.searchesForPrograms -= 1
        engine.look(at: app, isGone: (try? isGone.get()) ?? false, removes: removes)
      }
    }
  }

  private func look(at app: TransferStore.AbsentApp, isGone: Bool, removes: Bool) {
    guard isServing else { return }
    let limit = isGone ? settings.ages.removedApp : settings.ages.absentApp
    absences[app.path] = nil
    do {
      // It may have come and gone while its program was looked for.
      guard try store.unseenDays(of: app.id) == app.unseenDays else { return }
      let own = try store.sessions(of: app.id)
      // One that is connected, or is just connecting, is not absent, for however long it is.
      guard !own.isEmpty, !changeLines.isBusy(.sessions(app.id)),
        !own.contains(where: { sessions[$0]?.machine.attachment != nil })
      else { return }
      if app.unseenDays < limit || !removes {
        givenUpApps.remove(app.id)
        let removal = clock.date + TimeInterval(max(0, limit - app.unseenDays)) * 86_400
        absences[app.path] = AppAbsence(days: app.unseenDays, removal: removal)
      } else if app.unseenDays - limit >= limit {
        forget(app, own)
      } else {
        let cause =
          "its app \(isGone ? "is gone and " : "")did not connect on \(app.unseenDays) days on which the service ran"
        try giveUp(app, own, because: cause)
      }
    } catch { log.warning("the tasks of \(app.path) were not removed: \(error)") }
  }

  /// The app is there again.
  func returned(_ app: AppID, path: String) {
    dispatchPrecondition(condition: .onQueue(queue))
    absences[path] = nil
    givenUpApps.remove(app)
  }

  // MARK: Giving up

  /// Tasks that are to end, and finished files that were not delivered.
  private struct GivingUp: Sendable {
    let tasks: [TransferID]
    let files: [TransferStore.UndeliveredFile]
    let outlines: [TransferID: TransferStore.Outline]
    let cause: String

    func failure(of id: TransferID, _ moved: TransferFiles.SetAside) -> TransferFailure {
      LostTask.failure(because: cause, received: moved.paths[id], url: outlines[id]?.url)
    }
  }

  /// Files that were set aside, and how the losses of finished ones were written.
  private struct GivenUp: Sendable {
    let moved: TransferFiles.SetAside
    var losses: [TransferStore.FileLoss] = []
    var results: [Result<Int, any Error>] = []
  }

  private func giveUp(_ app: TransferStore.AbsentApp, _ own: [SessionID], because cause: String) throws {
    givenUpApps.insert(app.id)
    forgetRequests(of: app)
    let sessions = Set(own)
    let unfinished = transfers.ids.filter { id in transfers[id].map { sessions.contains($0.session) } ?? false }
    for id in unfinished where runs[id] != nil { post(.gaveWay, to: id) }
    let resting = unfinished.filter { transfers[$0]?.machine.isIdle == true }
    let undelivered = try store.undeliveredFiles(of: app.id)
    // Those that run stop first, and the requests of those that end now go then.
    guard !unfinished.isEmpty || !undelivered.isEmpty else { return }
    if resting.count < unfinished.count { setTimer(.upkeep, in: settings.removalPatience) { $0.keepUp() } }
    guard !resting.isEmpty || !undelivered.isEmpty else { return }
    log.notice(
      """
      \(resting.count) tasks of \(app.path) end, and \(undelivered.count) files of it that were not delivered are set aside: \
      \(cause)
      """)
    let giving = GivingUp(
      tasks: resting, files: undelivered, outlines: try store.outlines(of: resting + undelivered.map(\.transfer)),
      cause: cause)
    let (store, files, date) = (self.store, self.files, clock.date)
    whenWritten(changing: .sessions(app.id)) { (ended: @escaping @Sendable (Result<GivenUp, any Error>) -> Void) in
      removals.run {
        let moved = files.setAside(parts: giving.tasks, finished: giving.files.map(\.transfer), date: date)
        let losses = giving.files.filter { moved.problems[$0.transfer] == nil }.map {
          TransferStore.FileLoss(
            transfer: $0.transfer, session: $0.session, failure: giving.failure(of: $0.transfer, moved))
        }
        guard !losses.isEmpty else { return ended(.success(GivenUp(moved: moved))) }
        store.filesAreLost(losses) { ended(.success(GivenUp(moved: moved, losses: losses, results: $0))) }
      }
    } then: { engine, result in
      if case .success(let done) = result { engine.gaveUp(giving, done) }
    }
  }

  private func gaveUp(_ giving: GivingUp, _ done: GivenUp) {
    let moved = done.moved
    // They are tried again at the next look.
    for (id, problem) in moved.problems.sorted(by: { $0.key < $1.key }) {
      log.warning("what has arrived of transfer \(id) was not set aside: \(problem)")
    }
    for id in giving.tasks where moved.problems[id] == nil {
      let failure = giving.failure(of: id, moved)
      switch transfers[id]?.machine.state {
      case .suspended: post(.unfitToBegin(failure), to: id)
      case .waiting, .waitingForApp: post(.failed(failure, nil), to: id)
      default: break
      }
    }
    for (loss, result) in zip(done.losses, done.results) {
      switch result {
      case .success(let removed):
        preparedFiles[loss.transfer] = nil
        sessions.update(loss.session) { $0.readEvents = ReadEvents() }
        removeFiles(.delivered(loss.transfer))
        if removed > 0 { post(.eventsRemoved(removed), to: loss.session) }
      case .failure(let error): log.warning("the loss of the file of transfer \(loss.transfer) was not noted: \(error)")
      }
    }
  }

  /// Requests are of use to nothing once their tasks are over.
  private func forgetRequests(of app: TransferStore.AbsentApp) {
    write {
      store.forgetRequests(ofEndedTasksOf: app.id, ended: $0)
    } failed: { engine, error in
      engine.log.warning("requests of \(app.path) that are over were not forgotten: \(error)")
    }
  }

  // MARK: Forgetting

  private func forget(_ app: TransferStore.AbsentApp, _ own: [SessionID]) {
    log.notice(
      """
      \(app.path) did not connect on \(app.unseenDays) days on which the service ran; what was kept to tell it of its tasks is \
      removed
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
  }
}
