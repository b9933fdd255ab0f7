import Foundation
import TransferProtocol

/// Tells holders and watchers how a transfer stands. These pushes describe the moment: a client that reads too slowly
/// is left out, except of the last status.
extension TransferEngine {
  func reported(_ report: DownloadReport, by id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    if case .asked(let challenge) = report { return asked(challenge, by: id) }
    guard let transfer = transfers[id], let session = sessions[transfer.session] else { return }
    tries.reported(report, by: id, at: Moment(clock))
    let (name, task) = (session.identifier, transfer.taskIdentifier)
    switch report {
    case .responded(let response):
      transfers.update(id) {
        $0.expectedTotal = response.expectedContentLength
        $0.statusBase?.httpStatus = response.status
        $0.repeatability?.answered()
      }
      tellRepeatability(of: id)
      endThroughputWatch(ofUpload: id)
      stopIfOverQuota(id)
      let shown = shown(response, of: id)
      push(.responseReceived(ResponseReceived(session: name, taskIdentifier: task, response: shown)), to: session)
    case .resumed(let offset, let total):
      transfers.update(id) { ($0.received, $0.expectedTotal) = (offset, total) }
      stopIfOverQuota(id)
      let resumed = ResumedAtOffset(session: name, taskIdentifier: task, offset: offset, expectedTotal: total)
      push(.resumedAtOffset(resumed), to: session)
    case .progressed(let received, let total, let kept):
      let (new, loss) = (received - transfer.received, received - kept.count)
      tellHeldBackTime(of: id)
      scheduler.moved(new, loss: loss, of: id, at: clock.now)
      transfers.update(id) {
        ($0.received, $0.expectedTotal) = (received, total)
        $0.rate?.add(new, at: clock.now)
      }
      countArrived(id, before: transfer)
      apply(.progressed(kept), to: id)
      if transfer.machine.countedBytes != transfers[id]?.machine.countedBytes { acquit(id) }
      watchThroughput(of: id)
      let progress = DownloadProgress(
        session: name, taskIdentifier: task, totalBytesWritten: received, totalBytesExpectedToWrite: total)
      push(.progress(progress), to: session)
    case .sent(let sent, let kept):
      let (new, loss) = (sent.count - (transfer.sent?.count ?? 0), sent.count - kept.count)
      tellHeldBackTime(of: id)
      scheduler.moved(new, loss: loss, of: id, at: clock.now)
      transfers.update(id) {
        // A new life of the service goes on where the server is.
        $0.rate?.add($0.sent == nil ? loss : new, at: clock.now)
        $0.sent = sent
        $0.discretion?.serverKeeps(kept)
        $0.repeatability?.advanced(to: sent, kept: kept)
      }
      tellRepeatability(of: id)
      apply(.progressed(kept), to: id)
      if transfer.machine.countedBytes != transfers[id]?.machine.countedBytes { acquit(id) }
      watchThroughput(of: id)
      let progress = UploadProgress(
        session: name, taskIdentifier: task, totalBytesSent: sent.count, totalBytesExpectedToSend: sent.expected)
      push(.sent(progress), to: session)
    case .connected(let address, let isOfHost):
      return scheduler.connected(id, to: address, isOfHost: isOfHost, at: clock.now)
    case .arrived: return scheduler.setArrived(id)
    case .awaitsStorage(let sentence): return storageFailed(sentence)
    case .measured(let latest): return transactions.add(latest, of: id)
    case .asked: break
    }
    tellWatchers(of: id)
  }

  /// Has the scheduler know whether a run may be stopped for others.
  func tellRepeatability(of id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id] else { return }
    scheduler.setRepeatable(transfer.mayGoOnLater(at: clock.now), id)
  }

  private func push(_ push: ServicePush, to session: LiveSession) {
    guard let receiver = session.machine.receiver.flatMap({ clients[$0] }), receiver.client.canTakeMore else { return }
    receiver.client.send(.push(push))
  }

  func tellWatchers(of id: TransferID) {
    // The last status is never left out, however slowly a watcher reads: it is sent later.
    let isOver = transfers[id] == nil
    let watchers = clients.values.filter {
      $0.app != nil && (isOver || $0.client.canTakeMore) && $0.watching.includes(id)
    }
    guard !watchers.isEmpty else { return }
    do {
      guard let (app, status) = try watchedStatus(of: id) else { return }
      for watcher in watchers where watcher.maySee(app) {
        if watcher.client.canTakeMore {
          watcher.client.send(.push(.transferChanged(status)))
        } else if isOver {
          owe(id, to: watcher.client)
        }
      }
    } catch { log.error("watchers can't be told of transfer \(id): \(error)") }
  }

  private func owe(_ id: TransferID, to client: any ServiceClient) {
    clients[client.id]?.owed.insert(id)
    guard let count = clients[client.id]?.owed.count, count > settings.owedStatuses else { return }
    log.warning("process \(client.peer.process.pid) watches transfers and does not read; its connection is closed")
    clients[client.id]?.watching = .nothing
    clients[client.id]?.owed = []
    client.close()
  }

  /// As many as the watcher takes.
  func sendOwedStatuses(to client: any ServiceClient) {
    dispatchPrecondition(condition: .onQueue(queue))
    for id in clients[client.id]?.owed.sorted() ?? [] {
      guard client.canTakeMore else { return }
      clients[client.id]?.owed.remove(id)
      do {
        guard let (_, status) = try watchedStatus(of: id) else { continue }
        client.send(.push(.transferChanged(status)))
      } catch { log.error("a watcher can't be told of transfer \(id): \(error)") }
    }
  }

  private func watchedStatus(of id: TransferID) throws -> (AppID, TransferStatus)? {
    if let transfer = transfers[id], let base = transfer.statusBase, let session = sessions[transfer.session] {
      return (session.app, current(base, of: transfer))
    }
    guard let stored = try store.transfer(id) else { return nil }
    transfers.update(id) { $0.statusBase = TransferStatus(ListedTransfer(stored)) }
    return (stored.app, status(stored))
  }

  // MARK: Status

  /// How a stored transfer stands now.
  func status(_ stored: StoredTransfer) -> TransferStatus { status(ListedTransfer(stored)) }

  func status(_ listed: ListedTransfer) -> TransferStatus {
    var base = TransferStatus(listed)
    if !base.isAcknowledged { base.absence = listed.appPath.flatMap { absences[$0] } }
    guard let transfer = transfers[listed.id] else { return base }
    // The limit of its app is read when it begins to run, or here.
    let outline = listed.outline
    if outline.bytesPerSecond != nil || outline.hourlyLimits != nil { limit(listed.id, as: outline) }
    return current(base, of: transfer)
  }

  private func current(_ base: TransferStatus, of transfer: LiveTransfer) -> TransferStatus {
    var status = base
    status.absence = base.app.flatMap { absences[$0] }
    (status.state, status.waiting) = shownState(of: transfer)
    status.countOfBytesReceived = transfer.received
    status.countOfBytesExpectedToReceive = transfer.expectedTotal
    status.failedAttempts = transfer.machine.failures
    if let sent = transfer.sent {
      (status.countOfBytesSent, status.countOfBytesExpectedToSend) = (sent.count, sent.expected)
    }
    status.limits = shownLimits(of: transfer.id)
    if status.state == .running { status.bytesPerSecond = transfer.rate?.perSecond(at: clock.now) }
    return status
  }

  func shownState(of transfer: LiveTransfer) -> (TransferState, WaitingStatus?) {
    // An app that asked it to run finds it waiting.
    if let hold = transfer.machine.hold, transfer.machine.rests {
      let reason = hold.isSetAside ? WaitingReason.setAside(crashes: transfer.crashes) : .held
      return (hold.goesOn ? .waiting : .suspended, reason.status())
    }
    return switch transfer.machine.state {
    case .suspended, .importing(then: .suspend), .stopping(then: .suspend):
      (.suspended, WaitingReason.suspended.status())
    case .importing, .running, .stopping: (.running, nil)
    case .waiting: (.waiting, waitingStatus(of: transfer.id))
    case .waitingForApp(let sentence): (.waiting, WaitingReason.needsCredential(because: sentence).status())
    case .finishing, .blocked: (.waiting, WaitingReason.storage.status())
    case .over: (.completed, nil)
    }
  }

  private func waitingStatus(of id: TransferID) -> WaitingStatus {
    let reason = scheduler.waitingReason(of: id) ?? .turn
    let remaining = scheduler.remainingDelay(of: id, now: clock.now, date: clock.date)
    if remaining == nil, let fault = storage.fault {
      return WaitingReason.storageUnavailable(because: fault).status()
    }
    return reason.status(nextAttempt: remaining.map { clock.date + max(0, $0) })
  }
}

extension TransferStatus {
  /// As the queue has it.
  fileprivate init(_ listed: ListedTransfer) {
    self.init(
      transfer: listed.id, session: listed.sessionIdentifier, taskIdentifier: listed.taskIdentifier,
      kind: listed.outline.kind, url: listed.outline.url, state: listed.isOver ? .completed : .waiting,
      created: listed.created)
    taskDescription = listed.outline.taskDescription
    countOfBytesReceived = listed.committedOffset
    countOfBytesExpectedToReceive = listed.expectedTotal
    failedAttempts = listed.failures
    httpStatus = listed.httpStatus
    failure = listed.failure
    finished = listed.finished
    isAcknowledged = listed.isAcknowledged
    countOfBytesSent = listed.upload?.sent
    countOfBytesExpectedToSend = listed.upload?.size
    app = listed.appPath
  }
}
