import Dispatch
import Foundation
import SystemServices
import TransferProtocol

/// Answers of servers are sealed in the queue (`Secrets/SealedAnswers.swift`), and opened when their events are sent.
extension TransferEngine {
  /// Seconds for which the events of a session wait for a key that can't be read. Their files are of use without the fields
  /// of the responses, and later events wait behind them.
  static let lockedKeychainPatience: TimeInterval = 600

  /// nil while the event waits: the keychain or the file that has the key can't be read now.
  func opened(_ event: StoredEvent, session id: SessionID) -> Completion? {
    dispatchPrecondition(condition: .onQueue(queue))
    if let completion = sessions[id]?.readEvents.opened(event) { return completion }
    switch key.opened(event.completion, of: event.transfer) {
    case .open(let completion):
      sessions.update(id) { $0.readEvents.opened(event, as: completion) }
      // Those that need no key of the keychain say nothing of it.
      if key.hasKeychain, sessions[id]?.keychainLockedSince != nil {
        sessions.update(id) { $0.keychainLockedSince = nil }
      }
      return completion
    case .lost(let completion):
      if event.kind == .completed {
        log.warning(
          """
          the app of transfer \(event.transfer) is told of its end without the fields of the response: the key that \
          sealed them in the queue is gone
          """)
      }
      return completion
    case .locked(let completion):
      // It may be open by now.
      openKey()
      let since = sessions[id]?.keychainLockedSince ?? clock.now
      guard clock.now - since >= TransferEngine.lockedKeychainPatience else {
        if sessions[id]?.keychainLockedSince == nil {
          log.notice("the events of session \(id) wait for their key, which can't be read now")
          sessions.update(id) { $0.keychainLockedSince = since }
        }
        return nil
      }
      log.warning(
        """
        the app of transfer \(event.transfer) is told of its end without the fields of the response: their key could \
        not be read for \(Int(clock.now - since)) s
        """)
      return completion
    }
  }

  // MARK: Ends before there is a key

  /// Takes those out whose answers can't be sealed before it is known whether there is a keychain. They are written then.
  func holdEndsWithoutKey(_ ids: [TransferID]) -> [TransferID] {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !key.hasSettled else { return ids }
    let waiting = ids.filter(hasAnswer)
    guard !waiting.isEmpty else { return ids }
    endsAwaitingKey += waiting
    gatheredEnds.hold(waiting)
    openKey()
    let held = Set(waiting)
    return ids.filter { !held.contains($0) }
  }

  func keyIsSettledForEnds() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !endsAwaitingKey.isEmpty else { return }
    gatheredEnds.release(endsAwaitingKey, at: clock.now)
    endsAwaitingKey = []
  }

  private func hasAnswer(_ id: TransferID) -> Bool {
    if transactions.latest(id) != nil { return true }
    guard case .finishing(let end) = transfers[id]?.machine.state else { return false }
    switch end {
    case .file(let response, _): return !response.headers.isEmpty
    case .failure(_, let response): return response?.headers.isEmpty == false
    // Its answer is the one in the queue, which is sealed, or stays in clear where an earlier version has written it.
    case .cancelled: return false
    }
  }
}
