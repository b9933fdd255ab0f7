import Dispatch
import Foundation
import SystemServices
import TransferProtocol

/// Requests of apps about the tasks of their sessions. The queue is written first: when that fails, nothing has changed. What
/// is in memory follows when the change is on the disk, and so does the answer.
extension TransferEngine {
  /// Answers once the tasks are in the queue.
  ///
  /// - Parameter uploads: the files of uploads, by the tokens of their tasks. Their copies go where no task is made.
  func create(
    _ request: CreateTasks, session id: SessionID, uploads: [String: StoredUpload] = [:], _ message: ClientMessage,
    from client: any ServiceClient
  ) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    let isInBackground = sessions[id].map { !$0.machine.isInForeground } ?? false
    let tasks = request.tasks.map { task in
      var task = task
      task.isMadeInBackground = isInBackground ? true : nil
      return TakenTask(task)
    }
    let encoded = try MessageFraming.encode(each: tasks.map(\.description))
    let new = try zip(tasks, encoded).map { task, encoded in
      var new = try TaskAdmission.admit(task.description, encoded: encoded)
      new.sealedPassword = sealed(task)
      new.upload = uploads[task.description.token]
      if task.description.startsImmediately {
        new.started = ResourceTime.start(earliestBegin: task.description.earliestBeginDate, clock: clock)
      }
      try seal(&new)
      return new
    }
    let (snapshots, newTasks, date) = (self.snapshots, self.newTasks, clock.date)
    let space = sessions[id].map { queueSpace(for: encoded, of: $0.app) }
    answer(message, from: client, changing: .newTasks(id)) { ended in
      store.create(new, session: id, limit: settings.transfersPerApp, room: space?.room, date: date) { result in
        guard case .success(let numbers) = result else {
          snapshots.discard(new.compactMap(\.upload?.copyName))
          return ended(result)
        }
        let created = zip(new, numbers.ids).filter { numbers.created.contains($1) }
        newTasks.add(created.map { ($0, $1) }, of: id, at: date) { ended(result) }
      }
    } _: { engine, result in
      engine.tookQueueSpace(space, used: result.usedBytes)
      engine.created(new, tasks, result, session: id)
      return .created(CreatedTasks(transfers: result.ids))
    }
  }

  private func created(
    _ new: [TransferStore.NewTransfer], _ tasks: [TakenTask], _ result: TransferStore.Created, session id: SessionID
  ) {
    guard sessions[id] != nil else {
      // The session has ended meanwhile, and the tasks have gone with it.
      return removeCopies(new.compactMap(\.upload?.copyName))
    }
    for (transfer, number) in zip(new, result.ids) where result.created.contains(number) {
      nameUpload(transfer.upload, of: number)
      begin(transfer, number, session: id)
    }
    let known = zip(new, result.ids).filter { !result.created.contains($1) }
    removeCopies(known.compactMap { $0.0.upload?.copyName })
    for (index, number) in result.ids.enumerated() where transfers[number] != nil {
      guard let password = tasks[index].password else { continue }
      keep(password, of: number, isSealed: result.created.contains(number) && new[index].sealedPassword != nil)
    }
  }

  /// Whether the transfer is being created: it is in the queue and in lists, but not in memory before its record is written. The
  /// request is handled anew then, and what the connection sends later waits with it.
  func isBeingCreated(_ stored: StoredTransfer, for message: ClientMessage, from client: any ServiceClient) -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    let subject = ChangeLines.Subject.newTasks(stored.head.session)
    guard transfers[stored.head.id] == nil, stored.head.state != .completed, changeLines.isWriting(subject) else {
      return false
    }
    clients[client.id]?.waiting = [.message(message)]
    // A turn of its own: the app hears of the task first.
    changeLines.follow(subject) { engine in engine.enter { $0.handleWaiting(of: client) } }
    return true
  }

  private func begin(_ new: TransferStore.NewTransfer, _ number: TransferID, session id: SessionID) {
    let description = new.description
    let runs = description.startsImmediately
    transfers.insert(
      LiveTransfer(
        StoredTransferHead(
          id: number, session: id, taskIdentifier: description.taskIdentifier, state: runs ? .active : .suspended,
          host: new.host, priority: description.priority, earliestBegin: description.earliestBeginDate,
          committedOffset: 0, expectedTotal: description.resumePoint?.expectedTotal ?? -1, failures: 0,
          started: new.started)))
    sessions.update(id) { $0.unfinished[description.taskIdentifier] = number }
    post(.transferAdded, to: id)
    waitingReasonChanged(number)
    // A queue that can't be read now is read again before the transfer runs.
    if let app = sessions[id]?.app,
      let file = try? importer.file(description.resumePoint, validator: new.validator, for: number, of: app)
    {
      post(.resumeFileGiven(file, runs: runs), to: number)
    } else if runs {
      post(.queued(delay: nil), to: number)
    }
    tellWatchers(of: number)
  }

  /// Transfers that are suspended or resumed.
  private struct StateChange: Sendable {
    let transfers: [TransferID]
    /// The beginnings of the times of those that are wanted for the first time.
    let started: [TransferID: DurableInstant]
  }

  /// Suspends, or resumes. A transfer that is resumed is wanted now: a wait for its next try ends with its suspension, but not one
  /// that its server has asked for.
  func setState(
    _ state: StoredState, of taskIdentifiers: [Int], session id: SessionID, _ message: ClientMessage,
    from client: any ServiceClient
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    inPieces(taskIdentifiers, of: message, from: client) { engine, piece, ended in
      let change = engine.change(to: state, of: piece, session: id)
      guard !change.transfers.isEmpty else { return ended(.success(change)) }
      engine.store.setState(
        state, of: change.transfers, started: change.started,
        forgettingCrashesFrom: engine.settings.crashesPerTransfer
      ) { result in
        ended(result.map { change })
      }
    } then: { engine, _, change in
      engine.stateIsSet(state, change)
    }
  }

  private func change(to state: StoredState, of taskIdentifiers: [Int], session id: SessionID) -> StateChange {
    dispatchPrecondition(condition: .onQueue(queue))
    let changing = Set(taskIdentifiers).sorted().compactMap { sessions[id]?.unfinished[$0] }
      .filter { number in
        let machine = transfers[number]?.machine
        return (state == .suspended ? machine?.canSuspend : machine?.canResume) ?? false
      }
    return StateChange(transfers: changing, started: state == .suspended ? [:] : newTimes(of: changing))
  }

  private func stateIsSet(_ state: StoredState, _ change: StateChange) {
    for (number, start) in change.started { transfers.update(number) { $0.started = $0.started ?? start } }
    for number in change.transfers { runner.renewRecord(of: number) }
    // A resumption of a new task is told with its run.
    if state == .suspended {
      for number in change.transfers { log.info("transfer \(number) is suspended by its app") }
    } else {
      for number in change.transfers { log.debug("transfer \(number) is resumed by its app") }
    }
    if state == .active { for number in change.transfers { forgetCrashesOfResumed(number) } }
    for number in change.transfers { post(state == .suspended ? .suspended : .resumed, to: number) }
  }

  func update(
    _ request: UpdateTask, session id: SessionID, _ message: ClientMessage, from client: any ServiceClient
  ) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    let unknown = Refusal.unknown(task: request.taskIdentifier)
    guard let number = sessions[id]?.unfinished[request.taskIdentifier] else { throw unknown }
    guard !isChanging(.description(number), for: message, from: client) else { return }
    guard let stored = try store.transfer(number) else { throw unknown }
    var description = stored.description
    if let text = request.taskDescription { description.taskDescription = text.isEmpty ? nil : text }
    if let priority = request.priority { description.priority = priority }
    if let date = request.earliestBeginDate { description.earliestBeginDate = date == .distantPast ? nil : date }
    if let count = request.countOfBytesClientExpectsToSend { description.countOfBytesClientExpectsToSend = count }
    if let count = request.countOfBytesClientExpectsToReceive { description.countOfBytesClientExpectsToReceive = count }
    if let rate = request.bytesPerSecond { description.bytesPerSecond = rate > 0 ? rate : nil }
    if let limits = request.hourlyLimits { description.hourlyLimits = limits.isEmpty ? nil : limits }
    let encoded = try MessageFraming.encode(description)
    try TaskAdmission.checkLength(of: description, encoded: encoded)
    let space = sessions[id].map { queueSpace(for: [encoded], of: $0.app) }
    let started = time(of: number, movedTo: request.earliestBeginDate)
    let written = description
    answer(message, from: client, changing: .description(number)) {
      store.setDescription(written, encoded: encoded, started: started, room: space?.room, of: number, ended: $0)
    } _: { engine, used in
      engine.tookQueueSpace(space, used: used)
      engine.updated(number, written, request, started: started)
      return .done
    }
  }

  private func updated(
    _ number: TransferID, _ description: TransferDescription, _ request: UpdateTask, started: DurableInstant?
  ) {
    runner.renewRecord(of: number)
    // It may be over meanwhile.
    guard transfers[number] != nil else { return }
    if let started { transfers.update(number) { $0.started = started } }
    if request.bytesPerSecond != nil || request.hourlyLimits != nil { limit(number, as: description) }
    transfers.update(number) {
      $0.priority = description.priority
      $0.statusBase = nil
      $0.discretion?.take(description)
    }
    reconsider(number)
    scheduler.setPriority(description.priority, of: number)
    if request.earliestBeginDate != nil {
      earliestBeginChanged(of: number)
      apply(.earliestBeginChanged(description.earliestBeginDate), to: number)
    }
    watchDeadline(of: number)
    tellWatchers(of: number)
  }

  /// Ends a transfer with `URLError.cancelled`. A running one is stopped first; `reply` is sent when its end is on the
  /// disk: until then a crash would bring the transfer back. A cancellation that is refused here changes nothing.
  func cancel(_ id: TransferID, reply: LiveTransfer.CancellationReply) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    guard transfers[id] != nil else { return reply.send(CancelledTask()) }
    guard waitingCancellations.begin(reply.app) else { throw Refusal.tooManyCancellations }
    add(reply, to: id)
  }

  /// The end can't be written now: a person is told that, and the transfer ends when it can be.
  func refuseCancellations(of id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    var replies: [LiveTransfer.CancellationReply] = []
    transfers.update(id) { replies = $0.takeRepliesThatDoNotWait() }
    for reply in replies {
      waitingCancellations.end(reply.app)
      let refusal = Refusal(
        .storage,
        "Transfer \(id) is cancelled, but its end can't be written to the queue yet, such as on a full disk; it ends when it can."
      )
      reply.client.send(.reply(to: reply.request, .refused(refusal)))
    }
  }

  /// The connection is gone, and its cancellations are answered to none.
  func dropCancellations(by client: ConnectedClient) {
    dispatchPrecondition(condition: .onQueue(queue))
    for id in client.cancelling {
      var count = 0
      transfers.update(id) { count = $0.dropReplies(to: client.client.id) }
      guard let app = client.app else { continue }
      for _ in 0..<count { waitingCancellations.end(app) }
    }
  }

  /// Ends a session for good.
  func invalidate(_ id: SessionID, of app: AppID, _ message: ClientMessage, from client: any ServiceClient) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !isChanging(.sessions(app), for: message, from: client) else { return }
    answer(message, from: client, changing: .sessions(app)) {
      store.invalidate(id, ended: $0)
    } _: { engine, numbers in
      engine.invalidated(id, numbers)
      return .done
    }
  }

  /// - Parameter numbers: of the transfers that have gone from the queue.
  func invalidated(_ id: SessionID, _ numbers: [TransferID]) {
    dispatchPrecondition(condition: .onQueue(queue))
    newTasks.ended(numbers)
    sessions.update(id) { $0.readEvents = ReadEvents() }
    for number in numbers {
      if transfers[number] != nil {
        post(.discarded, to: number)
      } else {
        removeFiles(.undelivered(number))
        removeFiles(.delivered(number))
      }
    }
    post(.invalidated, to: id)
  }
}
