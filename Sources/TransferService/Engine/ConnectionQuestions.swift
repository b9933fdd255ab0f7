import Synchronization

/// Whether the loads of a session ask its app about their connections: one for the session and all its runs, so that what
/// the app says meanwhile counts at the next question. May be used from any thread.
package final class ConnectionQuestions: Sendable {
  private struct State {
    var areAsked = false
    var leftToRules: Set<TransferID> = []
  }

  private let state = Mutex(State())

  package init() {}

  package func areAsked(by transfer: TransferID) -> Bool {
    state.withLock { $0.areAsked && !$0.leftToRules.contains(transfer) }
  }

  /// - Parameter transfers: Those that do not ask, although the session does.
  func set(areAsked: Bool, except transfers: Set<TransferID>) {
    state.withLock { $0 = State(areAsked: areAsked, leftToRules: transfers) }
  }
}
