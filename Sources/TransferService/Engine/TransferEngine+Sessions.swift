import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol

extension TransferEngine {
  func attach(_ request: Attach, app: AppID, client: any ServiceClient) throws -> Attached {
    guard !request.session.isEmpty else { throw Refusal(.invalidRequest, "A session needs an identifier.") }
    if let id = sessionsByName[SessionName(app: app, identifier: request.session)], let session = sessions[id],
      let holder = session.holder, holder != client.id
    {
      // A holder that was just killed may not have been noticed yet.
      guard let present = clients[holder], present.client.peer.process.isAlive else {
        release(id)
        return try attach(request, app: app, client: client)
      }
      throw Refusal(
        .inUse, "Process \(present.client.peer.process.pid) holds session \(request.session) at the moment.")
    }
    let stored = try store.attach(
      app: app, identifier: request.session, options: request.options,
      holder: StoredHolder(process: client.peer.process, bootID: clock.bootID))
    let pending = try store.eventCount(of: stored.id)
    adopt(stored)
    guard var session = sessions[stored.id] else { throw TransferStoreError.noSuchSession }
    session.holder = client.id
    session.lastHolder = client.peer.process
    session.isDelivering = false
    session.lastSent = 0
    session.unacknowledged = []
    session.launchRefusal = nil
    // An app that was started and did not say that it was done may have died before it heard that all was told.
    session.willFinishEvents = pending > 0 || hasActiveTransfers(session) || session.stored.launches > 0
    sessions[stored.id] = session
    // Its user started it: whatever it does now, it is not for a launch of ours.
    if !session.isLaunched { try forgetLaunches(stored.id) }
    return Attached(
      page: try taskPage(session: stored.id, after: 0), nextTaskIdentifier: stored.nextTaskIdentifier,
      pendingEventCount: pending, willFinishEvents: session.willFinishEvents)
  }

  func create(_ request: CreateTasks, session id: SessionID) throws -> CreatedTasks {
    if let app = sessions[id]?.stored.app {
      let limit = settings.transfersPerApp
      // Repeating what was created already counts too: the limit is far from what apps have.
      guard try store.transferCount(of: app) + request.tasks.count <= limit else {
        throw Refusal(
          .tooLarge,
          "The app has as many background tasks as it may, \(limit); finish or cancel some before adding more.")
      }
    }
    let encoded = try MessageFraming.encode(each: request.tasks)
    let new = try zip(request.tasks, encoded).map { try checked($0, encoded: $1) }
    let result: (ids: [TransferID], created: Set<TransferID>)
    result = try store.create(new, session: id, date: clock.date)
    for (transfer, number) in zip(new, result.ids) where result.created.contains(number) {
      let description = transfer.description
      transfers[number] = LiveTransfer(
        StoredTransferHead(
          id: number, session: id, taskIdentifier: description.taskIdentifier,
          state: description.startsImmediately ? .active : .suspended, host: transfer.host,
          priority: description.priority, earliestBegin: description.earliestBeginDate, committedOffset: 0,
          expectedTotal: description.resumePoint?.expectedTotal ?? -1, failures: 0))
      sessions[id]?.unfinished[description.taskIdentifier] = number
      if let point = description.resumePoint { takeOver(point, for: number, validator: transfer.validator) }
      if description.startsImmediately, transfers[number]?.run == nil { enqueue(number) }
      tellWatchers(number)
    }
    // After the reply: what is pushed of a task follows the news that it exists.
    queue.async { self.schedule() }
    return CreatedTasks(transfers: result.ids)
  }

  private func checked(_ description: TransferDescription, encoded: Data) throws -> TransferStore.NewTransfer {
    guard !description.token.isEmpty, description.taskIdentifier > 0, description.taskIdentifier < .max else {
      throw Refusal(.invalidRequest, "A task needs a token and a task identifier of 1 or more.")
    }
    guard description.kind == .download else { throw Refusal(.unsupported, "This service has no uploads yet.") }
    guard (description.request.body?.count ?? 0) <= RequestDescription.maximumBodyLength else {
      throw Refusal(
        .tooLarge, "The body of a download request may have \(RequestDescription.maximumBodyLength) bytes at most.")
    }
    try TransferEngine.checkLength(of: description, encoded: encoded)
    var new = TransferStore.NewTransfer(description, host: TransferEngine.hostKey(description.request.url))
    new.encoded = encoded
    if let point = description.resumePoint {
      new.validator = ResumeValidator(
        entityTag: point.entityTag, lastModified: point.lastModified,
        isLastModifiedStrong: TransferEngine.isStrong(point))
    }
    return new
  }

  /// What is told of a task goes into one message, whole, whatever a page may be cut down to. So no description may
  /// come near the longest message.
  private static func checkLength(of description: TransferDescription, encoded: Data) throws {
    // Base64.
    let body = ((description.request.body?.count ?? 0) + 2) / 3 * 4
    guard encoded.count - body <= TransferDescription.maximumLength else {
      throw Refusal(
        .tooLarge,
        "A task may be described by \(TransferDescription.maximumLength) bytes at most, its body aside: URL, headers and "
          + "task description together.")
    }
  }

  /// RFC 9110 §8.8.2.2: a date stands for the bytes when it lies before that of the response.
  private static func isStrong(_ point: ResumePoint) -> Bool {
    guard let modified = point.lastModified.flatMap({ HTTPDate.parse($0) }),
      let date = point.serverDate.flatMap({ HTTPDate.parse($0) })
    else { return false }
    return modified < date
  }

  /// What limits count by: `https://example.com:443`.
  static func hostKey(_ url: String) -> String {
    guard let url = URL(string: url), let host = url.host?.lowercased() else { return "" }
    let scheme = url.scheme?.lowercased() ?? ""
    return "\(scheme)://\(host):\(url.port ?? (scheme == "https" ? 443 : 80))"
  }

  /// Makes the app's file the beginning of the download. Without it the download simply starts at zero.
  ///
  /// That file may be on another file system and have to be copied, so this is no work for the engine's queue. Until it
  /// is done the transfer counts as running; then it waits for its turn. A service that ends in the middle leaves the
  /// original where it was, and the next one takes it over when the transfer starts.
  func takeOver(_ point: ResumePoint, for id: TransferID, validator: ResumeValidator?) {
    transfers[id]?.hasTriedTakeOver = true
    guard point.offset > 0, validator?.condition != nil, ResumeFile.isAcceptable(point.path) else { return }
    transfers[id]?.run = TakeOver()
    let (store, files, log) = (self.store, self.files, self.log)
    copies.async {
      var received: Int64 = 0
      do {
        if try files.takeOver(point.path, for: id, count: point.offset) {
          try store.commit(offset: point.offset, representation: nil, of: id)
          received = point.offset
          // The original goes only now: until here a crash would have left it to the app.
          try files.disk.remove(point.path)
        }
      } catch {
        log.notice("transfer \(id) starts at zero, or its file was left: \(error)")
        // Starting at zero must not empty the original, which may be the same file.
        if received == 0 { try? files.disk.remove(files.partial(id)) }
      }
      self.queue.async { [received] in self.ended(id, .stopped(received: received)) }
    }
  }

  /// It is short, but for a copy, which nothing interrupts; what was asked for meanwhile happens at its end.
  private final class TakeOver: DownloadStopping {
    func stop() {}
  }

  /// Suspends, or resumes. Who resumes a transfer wants it now: a wait for its next try ends with its suspension.
  func setState(_ state: StoredState, of selection: TaskSelection, session id: SessionID) throws {
    let changing = selection.taskIdentifiers.compactMap { sessions[id]?.unfinished[$0] }
      .filter { transfers[$0].map { $0.state != state && $0.cancellation == nil } ?? false }
    guard !changing.isEmpty else { return }
    try store.setState(state, of: changing)
    for number in changing {
      transfers[number]?.state = state
      if state == .suspended {
        if let run = transfers[number]?.run { run.stop() } else { scheduler.remove(number) }
      } else if transfers[number]?.run == nil {
        enqueue(number)
      }
      pushState(of: number)
    }
    schedule()
    considerSession(id)
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
    try TransferEngine.checkLength(of: description, encoded: encoded)
    try store.setDescription(description, encoded: encoded, of: number)
    transfers[number]?.priority = description.priority
    transfers[number]?.statusBase = nil
    scheduler.setPriority(description.priority, of: number)
    if request.earliestBeginDate != nil {
      transfers[number]?.earliestBegin = description.earliestBeginDate
      // It waits for the later of the date and the next try.
      if transfers[number]?.state == .active, transfers[number]?.run == nil, transfers[number]?.cancellation == nil {
        enqueue(number, retryAt: stored.head.nextAttempt, because: stored.head.lastFailure)
      }
    }
    pushState(of: number)
    schedule()
  }

  /// Ends a session for good.
  func invalidate(_ id: SessionID) throws {
    let forgotten = try store.invalidate(id)
    for number in forgotten {
      if let run = transfers[number]?.run {
        transfers[number]?.isDiscarded = true
        scheduler.remove(number)
        run.stop()
      } else {
        reply(to: transfers[number]?.cancellation)
        forget(number)
        removeFiles(of: [number])
      }
    }
    release(id)
    schedule()
  }
}
