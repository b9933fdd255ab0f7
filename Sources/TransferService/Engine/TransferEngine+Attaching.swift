import Dispatch
import Foundation
import SystemServices
import TransferProtocol

/// Connections take sessions.
extension TransferEngine {
  func greet(_ client: any ServiceClient, _ hello: Hello) throws -> HelloReply {
    dispatchPrecondition(condition: .onQueue(queue))
    switch ProtocolVersions.ofService.agreement(withApp: hello.versions) {
    case .speak(let agreed):
      clients[client.id]?.version = agreed
      log.debug("\(client.peer.executable.path) (\(client.peer.process.pid)) connected with \(hello.client.logText)")
      return HelloReply(version: agreed, service: version)
    case .mustUpdate(.service) where settings.isProgramReplaced():
      handOver(.programIsReplaced)
      throw Refusal(.shuttingDown, "The transfer service ends, and its newer program goes on with its queue.")
    case .mustUpdate(let side):
      let sentence =
        side == .app
        ? "The app is too old for the transfer service; rebuild it with a newer library."
        : "The transfer service is too old for the app; update it."
      throw Refusal(.incompatibleVersion, sentence, mustUpdate: side)
    }
  }

  /// Answers once the session is in the queue.
  func attach(_ request: Attach, app: AppID, _ message: ClientMessage, from client: any ServiceClient) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !isChanging(.sessions(app), for: message, from: client) else { return }
    returned(app, path: client.peer.executable.path)
    try checkLimits(of: request, app: app, client: client)
    guard try !awaitsFormerHolder(of: request.session, app: app, message, from: client) else { return }
    let keeping = try keeping(request, of: app, program: client.peer.executable.path)
    let holder = StoredHolder(process: client.peer.process, bootID: clock.bootID)
    answer(message, from: client, changing: .sessions(app)) {
      store.attach(
        app: app, identifier: request.session, options: keeping.options, sealedOptions: keeping.sealedOptions,
        sealedFields: keeping.sealedFields, holder: holder, limits: settings.sessionsPerApp, sparing: Set(sessions.ids),
        ended: $0)
    } _: { engine, stored in
      // The next service takes the session over.
      try engine.checkServing()
      return .attached(try engine.attached(engine.kept(stored, request, keeping), request, by: client))
    }
  }

  /// Whether the session's former holder has asked for changes that are not made yet: its successor has to wait for them.
  /// Throws where the session is held, and where the two would wait for each other for ever.
  private func awaitsFormerHolder(
    of session: String, app: AppID, _ message: ClientMessage, from client: any ServiceClient
  ) throws -> Bool {
    guard let id = sessions.id(of: session, app: app), let attachment = sessions[id]?.machine.attachment,
      attachment.connection != client.id, let holder = clients[attachment.connection]
    else { return false }
    let process = holder.client.peer.process
    // One that was just killed may not have been noticed yet.
    guard holder.hasEnded || !process.isAlive else {
      var refusal = Refusal(.inUse, "Process \(process.pid) holds session \(session) at the moment.")
      if attachment.isOfLaunch { refusal.holderIsOfLaunch = true }
      throw refusal
    }
    guard holder.waiting != nil else { return false }
    guard !waits(attachment.connection, for: client.id) else {
      throw Refusal(.inUse, "Process \(process.pid), which has ended, waits for a session of this connection itself.")
    }
    clients[client.id]?.waiting = [.message(message)]
    clients[attachment.connection]?.successors.append(client)
    return true
  }

  /// Whether a connection is the successor of another one, or of one that is.
  private func waits(_ successor: UInt64, for holder: UInt64) -> Bool {
    clients[holder]?.successors.contains { $0.id == successor || waits(successor, for: $0.id) } ?? false
  }

  private func attached(_ stored: StoredSession, _ request: Attach, by client: any ServiceClient) throws -> Attached {
    if sessions[stored.id] == nil {
      sessions.insert(live(stored, pending: try store.eventCount(of: stored.id)))
    } else {
      sessions.update(stored.id) { $0.update(stored) }
      watchDeadlines(of: stored.id)
      limit(stored.id, as: stored.options)
      discretionChanged(of: stored.id, stored.options)
    }
    let holder = SessionMachine.Holder(
      connection: client.id, process: client.peer.process,
      sendsLaunchEvents: stored.options.sessionSendsLaunchEvents ?? true, isOfLaunch: request.isOfLaunch ?? false)
    dueStarts[stored.id]?.withdraw()
    withdrawQuestions(of: stored.id)
    sessions.update(stored.id) { $0.answersDelayedRequests = request.answersDelayedRequests ?? false }
    apply(.attached(holder), to: stored.id)
    guard let machine = sessions[stored.id]?.machine else { throw TransferStoreError.noSuchSession }
    return Attached(
      page: try taskPage(session: stored.id, after: 0), nextTaskIdentifier: stored.nextTaskIdentifier,
      pendingEventCount: machine.pending, willFinishEvents: machine.attachment?.owesEventsFinished ?? false)
  }

  private func checkLimits(of request: Attach, app: AppID, client: any ServiceClient) throws {
    guard !request.session.isEmpty else { throw Refusal(.invalidRequest, "A session needs an identifier.") }
    guard request.session.utf8.count <= Attach.maximumIdentifierLength else {
      throw Refusal(
        .tooLarge, "The identifier of a session may have \(Attach.maximumIdentifierLength) bytes at most.")
    }
    guard try MessageFraming.encode(request.options).count <= SessionOptions.maximumLength else {
      throw Refusal(
        .tooLarge,
        "The configuration of a session may have \(SessionOptions.maximumLength) bytes at most: headers, policies and "
          + "proxies together.")
    }
    let held = sessions.held(by: client.id)
    let isHeld = sessions.id(of: request.session, app: app).map { held.contains($0) } ?? false
    guard isHeld || held.count < settings.sessionsPerConnection else {
      throw Refusal(
        .tooLarge, "A connection may hold \(settings.sessionsPerConnection) sessions at most, and this one does.")
    }
  }

  /// A session as it stands in the queue.
  func live(_ stored: StoredSession, pending: Int, transfers heads: [StoredTransferHead] = []) -> LiveSession {
    dispatchPrecondition(condition: .onQueue(queue))
    // An app that has outlived the service that it knew comes back by itself, however long that takes it.
    let holder = stored.holder.flatMap { $0.bootID == clock.bootID ? $0.process : nil }
    let machine = SessionMachine(
      rules: sessionRules, pending: pending, unfinished: heads.count,
      active: heads.count { $0.state == .active && !$0.isHeld && !isSetAside($0) }, launches: stored.launches,
      recentLaunches: stored.recentLaunches,
      lastLaunch: stored.lastLaunch?.instant(on: clock, past: 2 * settings.launches.longestWait, future: 0),
      lastHolder: holder, sendsLaunchEvents: stored.options.sessionSendsLaunchEvents ?? true)
    var session = LiveSession(stored, machine: machine)
    recoverLimits(ofSession: stored.id)
    limit(stored.id, as: stored.options)
    for head in heads { session.unfinished[head.taskIdentifier] = head.id }
    return session
  }

  /// The session, when this connection holds it.
  func held(_ identifier: String, by client: any ServiceClient, _ app: AppID) throws -> SessionID {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let id = sessions.id(of: identifier, app: app), sessions[id]?.machine.attachment?.connection == client.id
    else { throw Refusal(.notAttached, "This connection has not attached to session \(identifier).") }
    return id
  }

  /// The session, when this connection or none holds it: the app may say that it is done with a session that it has not
  /// made again, or that has ended for it.
  func heldOrFree(_ identifier: String, by client: any ServiceClient, _ app: AppID) throws -> SessionID {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let id = sessions.id(of: identifier, app: app), sessions[id]?.machine.attachment == nil else {
      return try held(identifier, by: client, app)
    }
    return id
  }

  /// The app has handled these events.
  func acknowledge(
    _ sequences: [Int64], session id: SessionID, _ message: ClientMessage, from client: any ServiceClient
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    inPieces(sequences, of: message, from: client) { engine, piece, ended in
      engine.store.acknowledge(piece, session: id, ended: ended)
    } then: { engine, piece, result in
      engine.acknowledged(piece, result, session: id)
    }
  }

  private func acknowledged(_ sequences: [Int64], _ result: TransferStore.Acknowledgement, session id: SessionID) {
    let lost = sessions[id]?.lostFiles.intersection(result.told) ?? []
    sessions.update(id) { session in
      session.lostFiles.subtract(lost)
      session.readEvents.removed(sequences)
    }
    for transfer in result.filesTaken + lost {
      removeFiles(.delivered(transfer))
    }
    for path in result.resumeFiles { removeFiles(.file(path)) }
    post(.acknowledged(sequences, removed: result.removed), to: id)
    newTasks.ended(result.told)
    for transfer in result.told { tellWatchers(of: transfer) }
    if history.isReached(adding: result.told.count) { shortenHistory() }
  }

  /// Forgets what is too old, or too much. Sessions without a task are forgotten too, but not one that is being attached to:
  /// it is not live yet.
  func shortenHistory() {
    dispatchPrecondition(condition: .onQueue(queue))
    owesShortHistory = changeLines.hasSessions
    guard !owesShortHistory else { return }
    let (date, length, live) = (clock.date - settings.historyAge, settings.historyLength, Set(sessions.ids))
    write {
      store.prune(finishedBefore: date, keeping: length, sparing: live, ended: $0)
    } failed: { engine, error in
      engine.log.warning("the history was not shortened: \(error)")
    }
  }
}
