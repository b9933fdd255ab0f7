import NIOCore
import Synchronization
import SystemServices

/// Remembers until the machine's network changes which address of a server took a connection (the history of RFC 8305 §4).
/// Usable from any thread.
///
/// The network is watched from the first thing that is remembered to the first change, which makes all of it worthless.
package final class NameMemory: Sendable {
  /// The place that a connection leads to, and the conditions under which its addresses are chosen.
  struct Server: Hashable, Sendable {
    let host: String
    let port: Int
    let forbiddenNetworks: NetworkTraits
    let requiresProof: Bool

    init(_ key: ConnectionKey) {
      (host, port) = key.dialled
      forbiddenNetworks = key.forbiddenNetworks
      requiresProof = key.requiresDNSSEC
    }
  }

  private struct State: Sendable {
    var winners = BoundedTable<Server, NetworkAddress>(capacity: NameMemory.capacity)
    var token: NetworkMonitor.Token?
  }

  /// Most servers.
  static let capacity = 1000
  /// How long a winner is tried first. It does not get longer when it wins again: then the better way would never be found
  /// again once it was lost.
  static let winnerLifetime = TimeAmount.minutes(10)

  private let networks: any NetworkDescribing
  private let state = Mutex(State())

  package init(networks: any NetworkDescribing = SystemNetworks.shared) { self.networks = networks }

  deinit { if let token = state.withLock({ $0.token }) { networks.remove(token) } }

  // MARK: Winners

  /// The address that took the last connection to `server`; nil where that is not known or long ago.
  func winner(of server: Server, at now: NIODeadline = .now()) -> NetworkAddress? {
    state.withLock { state in
      guard let entry = state.winners.entry(for: server), now - entry.noted < NameMemory.winnerLifetime else {
        return nil
      }
      return entry.value
    }
  }

  func noteWinner(_ address: NetworkAddress, of server: Server, at now: NIODeadline = .now()) {
    guard winner(of: server, at: now) != address else { return }
    watch()
    state.withLock { $0.winners.note(address, for: server, at: now) }
  }

  /// No address took a connection.
  func forgetWinner(of server: Server) { state.withLock { $0.winners.remove(server) } }

  // MARK: The network

  /// The monitor calls on a thread of its own, perhaps before `add` has returned.
  private func watch() {
    guard state.withLock({ $0.token == nil }) else { return }
    guard let token = networks.add({ [weak self] in self?.networkChanged() }) else { return }
    let surplus = state.withLock { state -> NetworkMonitor.Token? in
      guard state.token == nil else { return token }
      state.token = token
      return nil
    }
    if let surplus { networks.remove(surplus) }
  }

  private func networkChanged() {
    let token = state.withLock { state -> NetworkMonitor.Token? in
      state.winners.removeAll()
      defer { state.token = nil }
      return state.token
    }
    if let token { networks.remove(token) }
  }
}
