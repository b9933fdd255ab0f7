import Foundation
import SystemServices
import TransferProtocol

/// Performs the actions of a session's machine.
extension TransferEngine {
  func apply(_ event: SessionMachine.Event, to id: SessionID) {
    dispatchPrecondition(condition: .onQueue(queue))
    // A service that ends neither sends events nor starts apps; the next one does.
    guard isServing else { return }
    let wasInForeground = sessions[id]?.machine.isInForeground
    for action in sessions.handle(event, for: id, at: clock.now) { perform(action, for: id) }
    if let isInForeground = sessions[id]?.machine.isInForeground, isInForeground != wasInForeground {
      reconsider(transfersOf: id)
    }
  }

  private func perform(_ action: SessionMachine.Action, for id: SessionID) {
    switch action {
    case .sendEvents(let connection, let last, let limit): sendEvents(of: id, to: connection, after: last, limit: limit)
    case .sendEventsFinished(let connection): sendEventsFinished(id, to: connection)
    case .setDeliveryTimer:
      setTimer(.delivery(id), in: settings.storagePatience) { $0.apply(.deliveryTimerFired, to: id) }
    case .cancelDeliveryTimer: timers.cancel(.delivery(id))
    case .setLaunchTimer(let seconds):
      // Never far ahead: the machine may sleep. A timer that fires early is set again.
      setTimer(.launch(id), in: min(seconds, 60)) { $0.apply(.launchTimerFired, to: id) }
    case .cancelLaunchTimer: timers.cancel(.launch(id))
    case .checkHolder(let process): checkHolder(process, of: id)
    case .stopWatchingHolder: holderWatches[id] = nil
    case .launch(let launches): launch(id, launches: launches)
    case .setPatienceTimer(let number):
      setTimer(.launchPatience(id), in: settings.launchPatience) {
        $0.apply(.patienceTimerFired(number: number), to: id)
      }
    case .cancelPatienceTimer: timers.cancel(.launchPatience(id))
    case .noteLaunchesHandled, .forgetLaunches: noteLaunches(of: id)
    case .reportRefusal(let reason): reportRefusal(reason, of: id)
    case .retire:
      sessions.remove(id)
      holderWatches[id] = nil
      unsealedSessions.remove(id)
      bandwidth.set(LimitTable(), of: .session(id))
      bandwidth.set(LimitTable(), of: .configuration(id))
      runner.forget(id)
    }
  }

  // MARK: Events

  private func sendEvents(of id: SessionID, to connection: UInt64, after last: Int64, limit: Int) {
    guard let session = sessions[id], let holder = clients[connection]?.client, holder.canTakeMore else {
      return post(.holderTookNone(connection: connection), to: id)
    }
    var sent: [Int64] = []
    do {
      while sent.count < limit {
        let events = try nextEvents(of: id, after: sent.last ?? last, limit: limit - sent.count)
        guard let event = events.first else { break }
        let content: TransferEvent
        switch try self.content(of: event, session: session) {
        case .ready(let ready): content = ready
        case .awaitsFile:
          prepareFiles(of: events.dropFirst(), session: session)
          // Told when the file is there.
          if sent.isEmpty { return post(.holderTookNone(connection: connection), to: id) }
          return post(.eventsSent(sent, connection: connection), to: id)
        case .awaitsKey:
          // Tried again after a while.
          let end = SessionMachine.Event.eventsUnreadable(connection: connection)
          return post(sent.isEmpty ? end : .eventsSent(sent, connection: connection), to: id)
        }
        let push = SequencedEvent(
          session: session.identifier, sequence: event.sequence, taskIdentifier: event.taskIdentifier, event: content)
        holder.send(.push(.event(push)))
        sent.append(event.sequence)
        sessions.update(id) { $0.readEvents.sentFirst() }
      }
      post(.eventsSent(sent, connection: connection), to: id)
    } catch {
      log.error("events of session \(session.identifier.logText) can't be delivered now: \(error)")
      post(sent.isEmpty ? .eventsUnreadable(connection: connection) : .eventsSent(sent, connection: connection), to: id)
    }
  }

  private func nextEvents(of id: SessionID, after last: Int64, limit: Int) throws -> ArraySlice<StoredEvent> {
    if let known = sessions[id]?.readEvents.following(last, limit: limit) { return known }
    let events = try store.events(of: id, after: last, limit: limit)
    sessions.update(id) { $0.readEvents.read(events, after: last) }
    return events[...]
  }

  private enum EventContent {
    case ready(TransferEvent)
    /// A copy for the app is being made, or the queue is being told that there is no file.
    case awaitsFile
    /// The keychain with the key to it is locked.
    case awaitsKey
  }

  private func content(of event: StoredEvent, session: LiveSession) throws -> EventContent {
    guard let completion = opened(event, session: session.id) else { return .awaitsKey }
    switch event.kind {
    case .completed: return .ready(.completed(completion))
    case .finishedDownloading:
      let (count, response) = (completion.countOfBytesReceived, completion.response)
      switch try takeFile(of: event, session: session) {
      case .ready(let path?):
        return .ready(.finishedDownloading(FinishedDownload(path: path, response: response, byteCount: count)))
      case .ready(nil):
        // One that was set aside is told.
        if try !filesKept(of: [event.transfer]).isEmpty || !loadAgain(event, because: "is gone", session: session) {
          loseFile(of: event, session: session)
        }
      case .changed:
        if try !loadAgain(event, because: "was changed", session: session) { loseFile(of: event, session: session) }
      case .preparing, .failed: break
      }
      return .awaitsFile
    }
  }

  /// The events of the session wait until the queue has changed, and are read again then.
  private func loseFile(of event: StoredEvent, session: LiveSession) {
    var failure = TransferFailure(
      domain: NSURLErrorDomain, code: URLError.Code.cannotOpenFile.rawValue,
      message: "The downloaded file was removed or changed before its delivery was acknowledged.",
      url: event.completion.response?.url)
    keepDelivery(of: event)
    if let path = filesKept(of: [event.transfer])[event.transfer] {
      failure.message += " \(TransferEngine.sentence(ofFileKeptAt: path))"
    }
    log.error("the file of transfer \(event.transfer) is lost: \(files.complete(event.transfer))")
    let (id, transfer) = (session.id, event.transfer)
    preparedFiles[transfer] = .preparing
    whenWritten {
      store.fileIsLost(of: transfer, session: id, failure: failure, ended: $0)
    } then: { engine, result in
      engine.fileIsLost(result, of: transfer, session: id)
    }
  }

  private func keepDelivery(of event: StoredEvent) {
    do {
      try files.setAsideDelivery(
        of: event.transfer, count: event.completion.countOfBytesReceived, date: clock.date)
    } catch { log.warning("what the app of transfer \(event.transfer) was given was not set aside: \(error)") }
  }

  private func fileIsLost(_ result: Result<Int, any Error>, of transfer: TransferID, session id: SessionID) {
    // nil: its events were acknowledged meanwhile, or went with the session.
    let isAwaited = preparedFiles[transfer] != nil
    preparedFiles[transfer] = nil
    sessions.update(id) { $0.readEvents = ReadEvents() }
    switch result {
    case .success(let removed):
      if isAwaited { sessions.update(id) { $0.lostFiles.insert(transfer) } }
      if removed > 0 { post(.eventsRemoved(removed), to: id) }
    case .failure(let error):
      // The events of the session are tried again then.
      if isAwaited { preparedFiles[transfer] = .failed(error) }
    }
    post(.holderTakesMore, to: id)
  }

  private func sendEventsFinished(_ id: SessionID, to connection: UInt64) {
    guard let session = sessions[id], let holder = clients[connection]?.client else { return }
    holder.send(.push(.eventsFinished(SessionReference(session: session.identifier))))
  }

  // MARK: Starting the app

  private func checkHolder(_ process: ProcessIdentity, of id: SessionID) {
    let watch = ProcessWatch(process) { [weak self] in
      self?.enter { engine in
        engine.holderWatches[id] = nil
        engine.apply(.holderChecked(process, isAlive: false), to: id)
      }
    }
    holderWatches[id] = watch
    post(.holderChecked(process, isAlive: watch != nil), to: id)
  }

  private func launch(_ id: SessionID, launches: Int) {
    guard let session = sessions[id] else { return }
    let (recent, instant) = (session.machine.recentLaunches, DurableInstant(clock.now, clock: clock))
    // Noted first: a service that dies over a launch does not repeat it without end.
    whenWritten {
      store.setLaunches(launches, recent: recent, at: instant, of: id, ended: $0)
    } then: { engine, result in
      engine.launch(id, noted: result)
    }
  }

  private func launch(_ id: SessionID, noted: Result<Void, any Error>) {
    guard isServing, let session = sessions[id], session.machine.launch == .starting else { return }
    // An app that is about to attach needs no start.
    guard !changeLines.isBusy(.sessions(session.app)) else {
      return changeLines.follow(.sessions(session.app)) { engine in engine.launch(id, noted: noted) }
    }
    guard session.machine.isStartDue else { return post(.launchIsNeedless, to: id) }
    if case .failure(let error) = noted { return launchFailed(session, error) }
    start(session)
  }

  /// On a thread of its own: the file system that has the program may hang.
  private func start(_ session: LiveSession) {
    let (id, number) = (session.id, nextLaunchNumber())
    startsUnderWay[number] = false
    let due = DueStart()
    dueStarts[id] = due
    programThreads.call(at: .init(app: session.executable.path), within: settings.programPatience) {
      [launcher] isAwaited in
      try launcher.launch(
        session.executable, session: session.identifier, environment: session.options.launchEnvironment,
        isAwaited: { due.isDue && isAwaited() }
      ) {
        self.enter { $0.launchedAppEnded(number, id) }
      }
    } ended: { result in
      self.enter { $0.started(session, number, due, result) }
    }
  }

  private func started(_ session: LiveSession, _ number: Int, _ due: DueStart, _ result: Result<Void, any Error>) {
    let hasEnded = startsUnderWay.removeValue(forKey: number) ?? false
    if dueStarts[session.id] === due { dueStarts[session.id] = nil }
    if case .failure(let error) = result {
      // Its process has come by itself meanwhile.
      return due.isDue ? launchFailed(session, error) : post(.launchIsNeedless, to: session.id)
    }
    log.info("started \(session.executable.path) for session \(session.identifier.logText)")
    post(.launched(number: number), to: session.id)
    if hasEnded { post(.launchedAppEnded(number: number), to: session.id) }
  }

  /// The process may have ended before it is known that it was started.
  private func launchedAppEnded(_ number: Int, _ id: SessionID) {
    guard startsUnderWay[number] == nil else { return startsUnderWay[number] = true }
    apply(.launchedAppEnded(number: number), to: id)
  }

  private func launchFailed(_ session: LiveSession, _ error: any Error) {
    let isExpired = error is BlockingCalls.Expired
    let reason = isExpired ? "its file system does not answer (\(error))" : "\(error)"
    log.notice("\(session.executable.path) can't be started now: \(reason)")
    post(.launchFailed(reason, isTemporary: TransferEngine.isTemporary(error)), to: session.id)
  }

  /// The machine is short of something, the program is just being replaced, or the queue could not be written.
  private static func isTemporary(_ error: any Error) -> Bool {
    switch error {
    case let error as SystemError: [EAGAIN, ENOMEM, ENOENT, ETXTBSY].contains(error.code)
    case ExecutableIdentity.Change.missing: true
    case is ExecutableIdentity.Change: false
    default: true
    }
  }

  /// The app says that it has handled what it was started for. Answers when the queue has that: otherwise the next service could
  /// start the app once more. So does one that comes while that is still being written, or after it could not be. Before the
  /// app has acknowledged all events it does not count, and there is nothing to wait for.
  ///
  /// - Returns: nil when the answer comes later.
  func saidDone(_ id: SessionID, _ message: ClientMessage, from client: any ServiceClient) -> ServiceReply? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let session = sessions[id], session.machine.pending == 0,
      session.machine.launches > 0 || !session.launchNotes.areWritten
    else {
      post(.saidDone, to: id)
      return .done
    }
    let (machine, note) = (session.machine, session.launchNotes.last)
    let last = machine.lastLaunch.map { DurableInstant($0, clock: clock) }
    answer(message, from: client) {
      store.setLaunches(0, recent: machine.recentLaunches, at: last, of: id, ended: $0)
    } _: { engine, _ in
      engine.sessions.update(id) { $0.launchNotes.wrote(note) }
      // Another process that has taken the session meanwhile has not said it.
      let holder = engine.sessions[id]?.machine.attachment?.connection
      if holder == nil || holder == client.id { engine.post(.saidDone, to: id) }
      return .done
    }
    return nil
  }

  /// The app has handled what it was started for, or was started by its user.
  private func noteLaunches(of id: SessionID) {
    guard let machine = sessions[id]?.machine else { return }
    let last = machine.lastLaunch.map { DurableInstant($0, clock: clock) }
    var note = 0
    sessions.update(id) { note = $0.launchNotes.begin() }
    let number = note
    whenWritten {
      store.setLaunches(machine.launches, recent: machine.recentLaunches, at: last, of: id, ended: $0)
    } then: { engine, result in
      switch result {
      case .success: engine.sessions.update(id) { $0.launchNotes.wrote(number) }
      case .failure(let error):
        engine.log.warning(
          "after a restart of the service, the app of session \(id) may be started once more: \(error)")
      }
    }
  }

  private func reportRefusal(_ reason: String, of id: SessionID) {
    guard let session = sessions[id] else { return }
    log.warning("session \(session.identifier.logText) waits for \(session.executable.path) to be started: \(reason)")
  }
}
