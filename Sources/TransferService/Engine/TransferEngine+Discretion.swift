import Foundation
import SystemServices
import TransferProtocol

/// Keeps transfers that can wait from running while the machine's conditions are against it.
extension TransferEngine {
  /// Until the transfer may run; nil when it may now. Asked when the scheduler has chosen it.
  func discretionaryDelay(of id: TransferID) -> Scheduler.Delay? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let discretion = discretion(of: id), let transfer = transfers[id], let session = sessions[transfer.session],
      discretion.applies(inForeground: session.machine.isInForeground)
    else { return nil }
    if let until = discretion.pausedUntil, until > clock.now {
      return Scheduler.Delay(until: .instant(until), reason: .poorThroughput)
    }
    watchConditions()
    guard let reporter = settings.conditions else { return nil }
    let limit = DiscretionaryRule.limit(ResourceTime.limit(session.options))
    var facts = DiscretionaryRule.Transfer(age: passedTime(of: transfer, limit: limit), limit: limit)
    facts.expectedBytes = discretion.bytesLeft(received: transfer.received, of: transfer.expectedTotal)
    facts.allowsExpensive = session.options.allowsExpensiveNetworkAccess ?? true
    facts.allowsConstrained = session.options.allowsConstrainedNetworkAccess ?? true
    switch DiscretionaryRule.verdict(reporter.conditions, for: facts) {
    case .run: return nil
    case .wait(let reason, let seconds): return .init(until: .instant(clock.now + seconds), reason: reason)
    }
  }

  /// Whether other traffic goes first.
  func yields(_ id: TransferID) -> Bool {
    guard let transfer = transfers[id], let session = sessions[transfer.session] else { return false }
    return discretion(of: id)?.yields(inForeground: session.machine.isInForeground) ?? false
  }

  /// Whether it can wait.
  private func isDiscretionary(_ id: TransferID) -> Bool {
    guard let transfer = transfers[id], let session = sessions[transfer.session] else { return false }
    return discretion(of: id)?.applies(inForeground: session.machine.isInForeground) ?? false
  }

  private func discretion(of id: TransferID) -> TransferDiscretion? {
    guard let transfer = transfers[id] else { return nil }
    if let known = transfer.discretion { return known }
    guard let session = sessions[transfer.session] else { return nil }
    do {
      guard let stored = try store.transfer(id) else { return nil }
      let made = TransferDiscretion(stored, options: session.options)
      transfers.update(id) { $0.discretion = made }
      return made
    } catch {
      // The start reads it again, and fails if it still can't be read.
      log.error("whether transfer \(id) can wait could not be read: \(error)")
      return nil
    }
  }

  // MARK: Changes

  /// Follows the conditions while a transfer can wait, and only then.
  func watchConditions() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let reporter = settings.conditions else { return }
    let isNeeded = isServing && transfers.hasDiscretionary
    guard isNeeded != isWatchingConditions else { return }
    isWatchingConditions = isNeeded
    guard isNeeded else { return reporter.stop() }
    reporter.start { [weak self] in self?.enter { $0.conditionsChanged() } }
  }

  func conditionsChanged() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isWatchingConditions, let conditions = settings.conditions?.conditions else { return }
    let unknown = conditions.unknown
    if unknown != unknownConditions, !unknown.isEmpty {
      log.notice("discretionary transfers do not wait for what is not known here: \(unknown.joined(separator: ", "))")
    }
    unknownConditions = unknown
    for id in transfers.discretionary { reconsider(id) }
  }

  /// The session came to the foreground or left it, or has other options.
  func reconsider(transfersOf session: SessionID) {
    dispatchPrecondition(condition: .onQueue(queue))
    for id in sessions[session]?.unfinished.values.sorted() ?? [] where transfers[id]?.discretion?.cause != nil {
      reconsider(id)
    }
  }

  /// The session was attached to with these options.
  func discretionChanged(of session: SessionID, _ options: SessionOptions) {
    dispatchPrecondition(condition: .onQueue(queue))
    for id in sessions[session]?.unfinished.values.sorted() ?? [] where transfers[id]?.discretion != nil {
      transfers.update(id) { $0.discretion?.take(options) }
      reconsider(id)
    }
    watchConditions()
  }

  /// Decides anew about a transfer that can wait.
  func reconsider(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], transfer.discretion != nil else { return }
    transfer.pace?.setYields(yields(id))
    if transfer.machine.isHeldByConditions {
      post(.conditionsChanged, to: id)
    } else if runs[id] != nil, case .discretionary(let bar)? = discretionaryDelay(of: id)?.reason, bar.stopsRuns {
      post(.conditionsWorsened, to: id)
    }
  }

  // MARK: Throughput

  func discretionaryRunBegan(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isDiscretionary(id), let transfer = transfers[id] else { return }
    let watch = ThroughputWatch(at: clock.now, moved: moved(by: transfer))
    transfers.update(id) { $0.discretion?.throughput = watch }
  }

  /// Bytes of the file, of which an upload sends and a download receives one.
  private func moved(by transfer: LiveTransfer) -> Int64 {
    transfer.discretion?.upload == nil ? transfer.received : transfer.sent?.count ?? 0
  }

  /// The server has answered. Of an upload nothing is left that could be sent more slowly.
  func endThroughputWatch(ofUpload id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard transfers[id]?.discretion?.upload != nil else { return }
    transfers.update(id) { $0.discretion?.throughput = nil }
  }

  /// A run that can wait and is too slow ends, and goes on later.
  func watchThroughput(of id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], transfer.discretion?.throughput != nil, isDiscretionary(id) else { return }
    // The server may take its time for the answer to a file that it has.
    if let sent = transfer.sent, transfer.discretion?.upload != nil, sent.count >= sent.expected { return }
    let moved = moved(by: transfer)
    let isHeldBack = transfer.pace?.isHoldingBack ?? false
    var isTooSlow = false
    transfers.update(id) {
      isTooSlow = $0.discretion?.throughput?.isTooSlow(moved: moved, isHeldBack: isHeldBack, at: clock.now) ?? false
      if isTooSlow { $0.discretion?.pausedUntil = clock.now + ThroughputWatch.pause }
    }
    if isTooSlow { post(.conditionsWorsened, to: id) }
  }
}
