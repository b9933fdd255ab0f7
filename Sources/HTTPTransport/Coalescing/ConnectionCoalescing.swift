import Synchronization
import SystemServices

/// Which connections of a session may serve other origins too, for the pools of all loops. Usable from any thread.
package final class ConnectionCoalescing: Sendable {
  /// A connection in its pool.
  struct Place: Sendable {
    let pool: HTTPConnectionPool
    let id: HTTPConnectionPool.ConnectionID
  }

  private struct State: Sendable {
    var table = CoalescingTable()
    var places: [CoalescingTable.ID: Place] = [:]
  }

  private let state = Mutex(State())
  private let reader: CertifiedHosts.Reader?

  /// - Parameter reader: nil where no connection is shared.
  init(reader: CertifiedHosts.Reader?) { self.reader = reader }

  // MARK: Connections

  /// A connection with streams is open. Returns its number here; nil when it serves its own origin alone.
  func opened(
    _ id: HTTPConnectionPool.ConnectionID, _ key: ConnectionKey, _ record: ConnectionRecord,
    certificates: [[UInt8]], in pool: HTTPConnectionPool
  ) -> CoalescingTable.ID? {
    // A server that asks who the client is may get another answer for another host.
    guard let reader, record.clientCertificate == .notWanted,
      let address = record.remoteAddress.flatMap({ NetworkAddress($0) })
    else { return nil }
    let chain = certificates.isEmpty ? [record.serverCertificate?.derBytes].compactMap { $0 } : certificates
    guard let first = chain.first else { return nil }
    let connection = CoalescingTable.Connection(
      key: key, address: address, tlsVersion: record.tlsVersion, certificates: chain,
      hosts: CertifiedHosts(first, reader: reader))
    return state.withLock { state in
      guard let number = state.table.opened(connection) else { return nil }
      state.places[number] = Place(pool: pool, id: id)
      return number
    }
  }

  func closed(_ number: CoalescingTable.ID) {
    state.withLock { state in
      state.table.closed(number)
      state.places[number] = nil
    }
  }

  func listed(_ origins: [String], on number: CoalescingTable.ID) {
    state.withLock { $0.table.listed(origins, on: number) }
  }

  // MARK: Origins

  func candidates(for key: ConnectionKey, limits: HandshakeLimits) -> [CoalescingTable.Candidate] {
    state.withLock { $0.table.candidates(for: key, limits: limits) }
  }

  var isEmpty: Bool { state.withLock { $0.table.isEmpty } }

  func place(_ number: CoalescingTable.ID) -> Place? { state.withLock { $0.places[number] } }

  func judged(_ key: ConnectionKey, on number: CoalescingTable.ID, isAdmitted: Bool) {
    state.withLock { $0.table.judged(key, on: number, isAdmitted: isAdmitted) }
  }

  /// The server does not answer for the origin of `key` on a connection of another one: it gets its own from now on.
  package func refused(_ key: ConnectionKey) { state.withLock { $0.table.refused(key) } }
}
