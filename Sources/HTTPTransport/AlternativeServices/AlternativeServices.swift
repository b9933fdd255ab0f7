import HTTPSemantics
import NIOCore
import Synchronization
import SystemServices

/// The alternative services that the https servers of a session have announced (RFC 7838). Usable from any thread.
///
/// Only what a server says of itself over TLS is noted, so that an attacker on the way can't lead its clients elsewhere. While
/// something is known that another network would make worthless, the machine's network is watched.
package final class AlternativeServices: Sendable {
  private struct State: Sendable {
    var table = AlternativeServiceTable()
    var token: NetworkMonitor.Token?
  }

  private let state = Mutex(State())
  private let networks: any NetworkDescribing
  private let now: @Sendable () -> Int64

  /// - Parameter now: Seconds on a clock that never goes back.
  package init(
    networks: any NetworkDescribing,
    now: @escaping @Sendable () -> Int64 = { Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000_000) }
  ) {
    self.networks = networks
    self.now = now
  }

  deinit { if let token = state.withLock({ $0.token }) { networks.remove(token) } }

  /// Notes what the final response of the server at `key` says.
  package func note(_ head: HTTPResponseHead, from key: ConnectionKey) {
    guard key.scheme == .https else { return }
    let origin = HTTPOrigin(knownScheme: "https", host: key.host, port: key.port)
    // RFC 7838 §6: a 421 comes from another server, whose announcements are ignored.
    guard head.status != 421 else { return change { $0.forget(origin) } }
    let values = head.fields.values("Alt-Svc")
    guard !values.isEmpty else { return }
    let age = head.fields["Age"].flatMap { Int64(decimalDigits: $0.trimmingHTTPWhitespace().utf8) } ?? 0
    let now = now()
    change { $0.note(values.joined(separator: ","), from: origin, age: age, at: now) }
  }

  /// The alternatives of the server at `key`, best first.
  package func services(for key: ConnectionKey) -> [AlternativeService] {
    guard key.scheme == .https else { return [] }
    let origin = HTTPOrigin(knownScheme: "https", host: key.host, port: key.port)
    let now = now()
    return state.withLock { $0.table.services(for: origin, at: now) }
  }

  /// Whether nothing is known of any server.
  package var isEmpty: Bool { state.withLock { $0.table.isEmpty } }

  package func removeAll() { change { $0.removeAll() } }

  // MARK: The network

  private func change(_ change: (inout AlternativeServiceTable) -> Void) {
    let (isIdle, isWatching) = state.withLock { state in
      change(&state.table)
      return (state.table.isEmpty, state.token != nil)
    }
    if isIdle == isWatching { isIdle ? unwatch() : watch() }
  }

  /// The monitor calls on a thread of its own, perhaps before `add` has returned.
  private func watch() {
    guard let token = networks.add({ [weak self] in self?.change { $0.networkChanged() } }) else { return }
    let surplus = state.withLock { state -> NetworkMonitor.Token? in
      guard state.token == nil else { return token }
      state.token = token
      return nil
    }
    if let surplus { networks.remove(surplus) }
  }

  private func unwatch() {
    let token = state.withLock { state -> NetworkMonitor.Token? in
      guard state.table.isEmpty else { return nil }
      defer { state.token = nil }
      return state.token
    }
    if let token { networks.remove(token) }
  }
}
