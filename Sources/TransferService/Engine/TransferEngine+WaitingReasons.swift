import Foundation
import TransferProtocol

/// Tells the holders of sessions why their tasks do not run. A task that waits for others is looked at again every few
/// seconds while transfers begin and end.
extension TransferEngine {
  /// Seconds after which the reasons that come from other transfers are looked at again.
  private static let refreshInterval: TimeInterval = 2

  /// The reason of the transfer may have changed. It is told at the end of the turn.
  func waitingReasonChanged(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    changedReasons.insert(id)
  }

  /// The holder of the session knows no reasons yet.
  func tellAllReasons(of session: SessionID) {
    dispatchPrecondition(condition: .onQueue(queue))
    for id in (sessions[session]?.unfinished ?? [:]).values {
      transfers.update(id) { $0.toldReason = .nothing }
      changedReasons.insert(id)
    }
  }

  /// Others have begun or given way, which those that wait may do so for.
  func refreshReasons() {
    guard !timers.isSet(.reasons) else { return }
    setTimer(.reasons, in: TransferEngine.refreshInterval) { engine in
      for id in engine.transfers.ids where engine.transfers[id]?.machine.isWaiting == true {
        engine.changedReasons.insert(id)
      }
    }
  }

  /// Called at the end of each turn.
  func tellReasons() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !changedReasons.isEmpty else { return }
    var changed: [SessionID: [WaitingTasks.Entry]] = [:]
    var postponed: Set<TransferID> = []
    for id in changedReasons.sorted() {
      guard let transfer = transfers[id], let holder = reasonsReceiver(of: transfer.session) else { continue }
      // Most ends are written within milliseconds; one that can't be is told.
      if case .finishing = transfer.machine.state { continue }
      guard holder.canTakeMore else {
        postponed.insert(id)
        continue
      }
      let waiting = shownState(of: transfer).1
      guard !transfer.toldReason.says(waiting) else { continue }
      transfers.update(id) { $0.toldReason = .told(waiting) }
      changed[transfer.session, default: []].append(.init(taskIdentifier: transfer.taskIdentifier, waiting: waiting))
    }
    changedReasons = postponed
    for (session, entries) in changed.sorted(by: { $0.key < $1.key }) { tell(entries, of: session) }
  }

  private func tell(_ entries: [WaitingTasks.Entry], of id: SessionID) {
    guard let session = sessions[id], let holder = reasonsReceiver(of: id) else { return }
    for start in stride(from: 0, to: entries.count, by: WaitingTasks.maximumCount) {
      let some = Array(entries[start..<min(start + WaitingTasks.maximumCount, entries.count)])
      holder.send(.push(.waiting(WaitingTasks(session: session.identifier, tasks: some))))
    }
  }

  private func reasonsReceiver(of session: SessionID) -> (any ServiceClient)? {
    guard let receiver = sessions[session]?.machine.receiver, let client = clients[receiver],
      let version = client.version, version >= ProtocolVersions.ofWaitingReasons
    else { return nil }
    return client.client
  }
}

extension TransferMachine {
  /// In the scheduler's hands.
  fileprivate var isWaiting: Bool { if case .waiting = state { true } else { false } }
}

/// The reason for waiting that a holder was told last.
enum ToldReason: Sendable, Equatable {
  case nothing
  /// nil: that the transfer runs.
  case told(WaitingStatus?)

  /// Whether nothing new is to be told. The time of the next try is reckoned anew each time, and is the same within a second.
  func says(_ waiting: WaitingStatus?) -> Bool {
    guard case .told(let told) = self else { return false }
    guard let told, let waiting else { return told == nil && waiting == nil }
    guard told.code == waiting.code, told.sentence == waiting.sentence else { return false }
    switch (told.nextAttempt, waiting.nextAttempt) {
    case (nil, nil): return true
    case (let told?, let next?): return abs(next.timeIntervalSince(told)) < 1
    default: return false
    }
  }
}
