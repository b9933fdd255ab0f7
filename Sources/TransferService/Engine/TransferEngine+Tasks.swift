import Foundation
import SystemServices
import TransferProtocol

/// Requests of apps about the tasks of their sessions. The queue is written first: when that fails, nothing has changed.
extension TransferEngine {
  func create(_ request: CreateTasks, session id: SessionID) throws -> CreatedTasks {
    if let app = sessions[id]?.app {
      let limit = settings.transfersPerApp
      // Repeating what was created already counts too: the limit is far from what apps have.
      guard try store.transferCount(of: app) + request.tasks.count <= limit else {
        throw Refusal(
          .tooLarge,
          "The app has as many background tasks as it may, \(limit); finish or cancel some before adding more.")
      }
    }
    let tasks = request.tasks.map { TakenTask($0) }
    let encoded = try MessageFraming.encode(each: tasks.map(\.description))
    let new = try zip(tasks, encoded).map { task, encoded in
      var new = try TaskAdmission.admit(task.description, encoded: encoded)
      new.sealedPassword = sealed(task)
      return new
    }
    let result = try store.create(new, session: id, date: clock.date)
    for (transfer, number) in zip(new, result.ids) where result.created.contains(number) {
      begin(transfer, number, session: id)
    }
    for (index, number) in result.ids.enumerated() where transfers[number] != nil {
      guard let password = tasks[index].password else { continue }
      keep(password, of: number, isSealed: result.created.contains(number) && new[index].sealedPassword != nil)
    }
    return CreatedTasks(transfers: result.ids)
  }

  private func begin(_ new: TransferStore.NewTransfer, _ number: TransferID, session id: SessionID) {
    let description = new.description
    let runs = description.startsImmediately
    transfers.insert(
      LiveTransfer(
        StoredTransferHead(
          id: number, session: id, taskIdentifier: description.taskIdentifier, state: runs ? .active : .suspended,
          host: new.host, priority: description.priority, earliestBegin: description.earliestBeginDate,
          committedOffset: 0, expectedTotal: description.resumePoint?.expectedTotal ?? -1, failures: 0)))
    sessions.update(id) { $0.unfinished[description.taskIdentifier] = number }
    post(.transferAdded, to: id)
    // A file that can't be looked at now is looked at again before the transfer runs.
    if let app = sessions[id]?.app,
      let file = try? importer.file(description.resumePoint, validator: new.validator, for: number, of: app)
    {
      post(.resumeFileGiven(file, runs: runs), to: number)
    } else if runs {
      post(.queued(delay: nil), to: number)
    }
    tellWatchers(of: number)
  }

  /// Suspends, or resumes. A transfer that is resumed is wanted now: a wait for its next try ends with its suspension.
  func setState(_ state: StoredState, of taskIdentifiers: [Int], session id: SessionID) throws {
    let changing = Set(taskIdentifiers).sorted().compactMap { sessions[id]?.unfinished[$0] }
      .filter { number in
        let machine = transfers[number]?.machine
        return (state == .suspended ? machine?.canSuspend : machine?.canResume) ?? false
      }
    guard !changing.isEmpty else { return }
    try store.setState(state, of: changing)
    for number in changing { post(state == .suspended ? .suspended : .resumed, to: number) }
  }

  func update(_ request: UpdateTask, session id: SessionID) throws {
    guard let number = sessions[id]?.unfinished[request.taskIdentifier], let stored = try store.transfer(number) else {
      throw Refusal(.unknownTask, "There is no task \(request.taskIdentifier), or it is over.")
    }
    var description = stored.description
    if let text = request.taskDescription { description.taskDescription = text.isEmpty ? nil : text }
    if let priority = request.priority { description.priority = priority }
    if let date = request.earliestBeginDate { description.earliestBeginDate = date }
    if let count = request.countOfBytesClientExpectsToSend { description.countOfBytesClientExpectsToSend = count }
    if let count = request.countOfBytesClientExpectsToReceive { description.countOfBytesClientExpectsToReceive = count }
    let encoded = try MessageFraming.encode(description)
    try TaskAdmission.checkLength(of: description, encoded: encoded)
    try store.setDescription(description, encoded: encoded, of: number)
    transfers.update(number) {
      $0.priority = description.priority
      $0.statusBase = nil
    }
    scheduler.setPriority(description.priority, of: number)
    if request.earliestBeginDate != nil { apply(.earliestBeginChanged(description.earliestBeginDate), to: number) }
    tellWatchers(of: number)
  }

  /// Ends a transfer with `URLError.cancelled`. A running one is stopped first; `reply` is sent when its end is on the
  /// disk: until then a crash would bring the transfer back. A refused cancellation changes nothing.
  func cancel(_ id: TransferID, reply: LiveTransfer.CancellationReply) throws {
    guard transfers[id] != nil else { return reply.send(nil) }
    guard waitingCancellations.begin(reply.app) else {
      throw Refusal(.storage, "Too many cancellations of the app wait for the disk already.")
    }
    clients[reply.client.id]?.cancelling.insert(id)
    transfers.update(id) { $0.add(reply) }
    post(.cancelled(wantsResumePoint: reply.takesResumePoint), to: id)
  }

  /// The connection is gone, and its cancellations are answered to none.
  func dropCancellations(by client: ConnectedClient) {
    for id in client.cancelling {
      var count = 0
      transfers.update(id) { count = $0.dropReplies(to: client.client.id) }
      guard let app = client.app else { continue }
      for _ in 0..<count { waitingCancellations.end(app) }
    }
  }

  /// Ends a session for good.
  func invalidate(_ id: SessionID) throws {
    for number in try store.invalidate(id) {
      if transfers[number] != nil {
        post(.discarded, to: number)
      } else {
        do {
          try files.removeUndelivered(number)
          try files.removeDelivered(number)
        } catch { log.warning("a file of transfer \(number) could not be removed: \(error)") }
      }
    }
    post(.invalidated, to: id)
  }
}
