import Synchronization

/// Whether the loads of a session ask its app about their connections: one for the session and all its runs, so that what
/// the app says meanwhile counts at the next question. May be used from any thread.
package final class ConnectionQuestions: Sendable {
  private let areWanted: Atomic<Bool>

  package init(areAsked: Bool = false) { areWanted = Atomic(areAsked) }

  package var areAsked: Bool {
    get { areWanted.load(ordering: .acquiring) }
    set { areWanted.store(newValue, ordering: .releasing) }
  }
}
