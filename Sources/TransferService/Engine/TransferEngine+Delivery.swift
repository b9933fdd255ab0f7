import Foundation
import SystemServices
import TransferProtocol

extension TransferEngine {
  /// Sends the holder of a session the events that are due, as many as may be on the way at a time.
  func pump(_ id: SessionID) {
    guard let session = sessions[id], session.isDelivering, let holder = session.holder.flatMap({ clients[$0] })
    else { return }
    let room = settings.deliveryWindow - session.unacknowledged.count
    guard room > 0, holder.client.canTakeMore else { return }
    do {
      for event in try store.events(of: id, after: session.lastSent, limit: room) {
        guard let push = try delivery(of: event, session: session) else { return pump(id) }
        sessions[id]?.lastSent = event.sequence
        sessions[id]?.unacknowledged.insert(event.sequence)
        holder.client.send(.push(.event(push)))
      }
    } catch {
      log.error("events of session \(session.stored.identifier) can't be delivered now: \(error)")
      after(5) { $0.pump(id) }
      return
    }
    finishEvents(id)
  }

  /// nil when the file is lost; the events have then been changed and are to be read again.
  private func delivery(of event: StoredEvent, session: LiveSession) throws -> SequencedEvent? {
    let told: TransferEvent
    switch event.kind {
    case .completed: told = .completed(event.completion)
    case .finishedDownloading:
      guard let path = try files.makeDelivery(event.transfer, count: event.completion.countOfBytesReceived) else {
        let failure = TransferFailure(
          domain: NSURLErrorDomain, code: URLError.Code.cannotOpenFile.rawValue,
          message: "The downloaded file was removed or changed before its delivery was acknowledged.",
          url: event.completion.response?.url)
        log.error("the file of transfer \(event.transfer) is lost: \(files.complete(event.transfer))")
        try store.fileIsLost(of: event.transfer, session: session.stored.id, failure: failure)
        return nil
      }
      told = .finishedDownloading(
        FinishedDownload(
          path: path, response: event.completion.response, byteCount: event.completion.countOfBytesReceived))
    }
    return SequencedEvent(
      session: session.stored.identifier, sequence: event.sequence, taskIdentifier: event.taskIdentifier, event: told)
  }

  func acknowledge(_ sequences: [Int64], session id: SessionID) throws {
    let result = try store.acknowledge(sequences, session: id)
    for transfer in result.filesTaken {
      do { try files.removeDelivered(transfer) } catch { log.warning("\(error)") }
    }
    sessions[id]?.unacknowledged.subtract(sequences)
    try considerDone(id)
    for transfer in result.told { tellWatchers(transfer) }
    shortenHistory(by: result.told.count)
    pump(id)
    considerSession(id)
  }

  /// History has a limit in a service that never ends, too.
  private func shortenHistory(by count: Int) {
    toldSincePruning += count
    guard toldSincePruning >= settings.pruningInterval else { return }
    toldSincePruning = 0
    do {
      try store.prune(
        finishedBefore: clock.date - settings.historyAge, keeping: settings.historyLength, sparing: Set(sessions.keys))
    } catch { log.warning("the history was not shortened: \(error)") }
  }

  /// Says that everything is told, when that was promised and is so.
  private func finishEvents(_ id: SessionID) {
    guard let session = sessions[id], session.willFinishEvents, session.isDelivering, session.unacknowledged.isEmpty,
      !hasActiveTransfers(session), let holder = session.holder.flatMap({ clients[$0] }),
      (try? store.eventCount(of: id)) == 0
    else { return }
    sessions[id]?.willFinishEvents = false
    holder.client.send(.push(.eventsFinished(SessionReference(session: session.stored.identifier))))
  }

  func hasActiveTransfers(_ session: LiveSession) -> Bool {
    session.unfinished.values.contains { transfers[$0]?.state == .active || transfers[$0]?.run != nil }
  }

  /// Something of a session ended: perhaps all of it.
  func considerSession(_ id: SessionID) {
    finishEvents(id)
    considerLaunch(id)
    retireSession(id)
    considerIdle()
  }

  /// A session that nobody holds and that has nothing to do or to tell needs no memory.
  private func retireSession(_ id: SessionID) {
    guard let session = sessions[id], session.holder == nil, session.unfinished.isEmpty, !session.isLaunched,
      session.stored.launches == 0, !session.isLaunchPlanned, (try? store.eventCount(of: id)) == 0
    else { return }
    sessions[id] = nil
    sessionsByName[SessionName(app: session.stored.app, identifier: session.stored.identifier)] = nil
  }

  // MARK: Pushes of the moment

  func push(_ push: ServicePush, to session: LiveSession) {
    guard session.isDelivering, let holder = session.holder.flatMap({ clients[$0] }), holder.client.canTakeMore
    else { return }
    holder.client.send(.push(push))
  }

  func pushState(of id: TransferID) {
    guard let transfer = transfers[id], let session = sessions[transfer.session] else { return }
    let (state, waiting) = state(of: transfer)
    push(
      .stateChanged(
        StateChanged(
          session: session.stored.identifier, taskIdentifier: transfer.taskIdentifier, state: state, waiting: waiting)),
      to: session)
    tellWatchers(id)
  }

  func state(of transfer: LiveTransfer) -> (TransferState, WaitingStatus?) {
    switch transfer.state {
    case .completed: (.completed, nil)
    case .suspended: (.suspended, WaitingReason.suspended.status())
    case .active:
      if transfer.run != nil {
        (.running, nil)
      } else {
        (.waiting, waiting(transfer.id))
      }
    }
  }

  private func waiting(_ id: TransferID) -> WaitingStatus {
    let reason = scheduler.waitingReason(of: id) ?? .turn
    let remaining = scheduler.remainingDelay(of: id, now: clock.now, date: clock.date)
    return reason.status(nextAttempt: remaining.map { clock.date + max(0, $0) })
  }

  // MARK: Watching

  func tellWatchers(_ id: TransferID) {
    // The last status is never left out, however slowly a watcher reads: it waits for it.
    let isOver = transfers[id] == nil
    let watchers = clients.values.filter {
      $0.app != nil && (isOver || $0.client.canTakeMore) && $0.watching.includes(id)
    }
    guard !watchers.isEmpty else { return }
    do {
      let app: AppID
      let status: TransferStatus
      if let transfer = transfers[id], let base = transfer.statusBase, let session = sessions[transfer.session] {
        app = session.stored.app
        status = overlay(base, transfer)
      } else if let stored = try store.transfer(id) {
        app = stored.app
        let base = TransferEngine.base(stored)
        transfers[id]?.statusBase = base
        status = transfers[id].map { overlay(base, $0) } ?? base
      } else {
        return
      }
      for watcher in watchers where watcher.app == app { watcher.client.send(.push(.transferChanged(status))) }
    } catch { log.error("watchers can't be told of transfer \(id): \(error)") }
  }

  func status(_ stored: StoredTransfer) -> TransferStatus {
    let base = TransferEngine.base(stored)
    return transfers[stored.head.id].map { overlay(base, $0) } ?? base
  }

  private func overlay(_ base: TransferStatus, _ transfer: LiveTransfer) -> TransferStatus {
    var status = base
    (status.state, status.waiting) = state(of: transfer)
    status.countOfBytesReceived = transfer.received
    status.countOfBytesExpectedToReceive = transfer.expectedTotal
    status.failedAttempts = transfer.failures
    return status
  }

  private static func base(_ stored: StoredTransfer) -> TransferStatus {
    var status = TransferStatus(
      transfer: stored.head.id, session: stored.sessionIdentifier, taskIdentifier: stored.head.taskIdentifier,
      kind: stored.description.kind, url: stored.description.request.url,
      state: stored.head.state == .completed ? .completed : .waiting, created: stored.created)
    status.taskDescription = stored.description.taskDescription
    status.countOfBytesReceived = stored.head.committedOffset
    status.countOfBytesExpectedToReceive = stored.head.expectedTotal
    status.failedAttempts = stored.head.failures
    status.httpStatus = stored.response?.status
    status.failure = stored.failure
    status.finished = stored.finished
    status.isAcknowledged = stored.isAcknowledged
    return status
  }
}
