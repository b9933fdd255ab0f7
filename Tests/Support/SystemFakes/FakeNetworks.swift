import Synchronization
import SystemServices

/// A machine with one network to everywhere, this machine included, which is what the test says.
package final class FakeNetworks: NetworkDescribing {
  private struct State {
    var traits: NetworkTraits?
    var questions = 0
    var lastToken = 0
    var observers: [NetworkMonitor.Token: @Sendable () -> Void] = [:]
    var isChangeUnreported = false
  }

  private let state: Mutex<State>

  /// - Parameter traits: nil for no network.
  package init(_ traits: NetworkTraits? = []) { state = Mutex(State(traits: traits)) }

  /// How often the traits of a network were asked for.
  package var questions: Int { state.withLock { $0.questions } }

  /// Whether there is an observer of changes.
  package var isObserved: Bool { state.withLock { !$0.observers.isEmpty } }

  /// The network becomes another one; who waits for that is told.
  package func become(_ traits: NetworkTraits?) {
    let observers = state.withLock { state in
      state.traits = traits
      return Array(state.observers.values)
    }
    for observer in observers { observer() }
  }

  /// The network becomes another one, which nothing reports.
  package func becomeUnreported(_ traits: NetworkTraits?) {
    state.withLock {
      $0.traits = traits
      $0.isChangeUnreported = true
    }
  }

  package func lookForChange() {
    let observers = state.withLock { state in
      defer { state.isChangeUnreported = false }
      return state.isChangeUnreported ? Array(state.observers.values) : []
    }
    for observer in observers { observer() }
  }

  package func traits(towards destination: NetworkAddress, from source: NetworkAddress?) -> NetworkTraits? {
    state.withLock {
      $0.questions += 1
      return $0.traits
    }
  }

  package func add(_ changed: @escaping @Sendable () -> Void) -> NetworkMonitor.Token {
    state.withLock {
      $0.lastToken += 1
      $0.observers[$0.lastToken] = changed
      return $0.lastToken
    }
  }

  package func remove(_ token: NetworkMonitor.Token) { state.withLock { $0.observers[token] = nil } }
}
