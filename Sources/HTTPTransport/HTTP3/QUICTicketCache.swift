#if HTTP3
import Synchronization

/// The tickets of servers for the next QUIC handshake with them. One belongs to each session, and nothing of it is stored.
/// Usable from any thread.
///
/// Servers that asked who the client is are not in it. As over TCP; but here the certificates of the first handshake are
/// kept, so that apps that judge servers are asked about them each time.
final class QUICTicketCache: Sendable {
  private struct State {
    var ofKey: [ConnectionKey: [QUICTicket]] = [:]
    /// The least recently used first.
    var order: [ConnectionKey] = []
  }

  private static let mostServers = 256
  /// Servers give two or more at once, for connections made at the same time.
  private static let mostTicketsOfOne = 4

  private let state = Mutex(State())

  func keep(_ ticket: QUICTicket, for key: ConnectionKey) {
    state.withLock { state in
      touch(key, in: &state)
      state.ofKey[key, default: []].append(ticket)
      if state.ofKey[key, default: []].count > QUICTicketCache.mostTicketsOfOne { state.ofKey[key]?.removeFirst() }
      if state.order.count > QUICTicketCache.mostServers { state.ofKey[state.order.removeFirst()] = nil }
    }
  }

  /// The newest, which nothing else gets.
  func take(for key: ConnectionKey) -> QUICTicket? {
    state.withLock { state in
      guard state.ofKey[key] != nil else { return nil }
      touch(key, in: &state)
      return state.ofKey[key]?.popLast()
    }
  }

  func removeAll() { state.withLock { $0 = State() } }

  private func touch(_ key: ConnectionKey, in state: inout State) {
    state.order.removeAll { $0 == key }
    state.order.append(key)
  }
}
#endif
