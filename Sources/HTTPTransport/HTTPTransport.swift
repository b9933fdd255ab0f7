import NIOCore
import NIOPosix
import Synchronization

/// The connections of one session: a pool an event loop. A host always maps to the same loop, or to the same ones where it
/// is divided (`HostShares`), so that its limit of connections holds and its pools need no lock.
package final class HTTPTransport: Sendable {
  package let configuration: TransportConfiguration
  /// Other ways to servers that these have told of.
  package let alternatives: AlternativeServices
  /// Which connections serve other origins too.
  package let coalescing: ConnectionCoalescing
  let tls: TLSContexts
  private let pools: [HTTPConnectionPool]
  private let shares: HostShares
  /// nil where no host is divided.
  private let loads: HostLoads?
  /// The connections of other protocols, by the type that keeps them.
  private let others = Mutex<[ObjectIdentifier: any OtherConnections]>([:])

  package init(configuration: TransportConfiguration, executors: [LoopExecutor] = LoopExecutor.all) {
    self.configuration = configuration
    let shares = HostShares(limit: configuration.maximumConnectionsPerHost, loops: executors.count)
    self.shares = shares
    loads = shares.count > 1 ? HostLoads(shares: shares.count) : nil
    let alternatives = AlternativeServices(networks: configuration.networks)
    self.alternatives = alternatives
    let coalescing = ConnectionCoalescing(reader: configuration.certifiedHosts)
    self.coalescing = coalescing
    let tls = TLSContexts(configuration: configuration)
    self.tls = tls
    pools = executors.map {
      HTTPConnectionPool(
        configuration: configuration, shares: shares, tls: tls, executor: $0, alternatives: alternatives,
        coalescing: coalescing)
    }
  }

  /// The loop on which connections to `host` live, or the first one of those where it is divided.
  package func executor(forHost host: String?) -> LoopExecutor { pools[index(ofHost: host)].executor }

  /// The pool with connections to `key` on the loop of `executor`; nil where they live elsewhere.
  package func pool(for key: ConnectionKey, on executor: LoopExecutor) -> HTTPConnectionPool? {
    let first = index(ofHost: key.host)
    for share in 0..<(shares.divide(key) ? shares.count : 1) {
      let pool = pool(of: share, from: first)
      if pool.executor === executor { return pool }
    }
    return nil
  }

  /// The pool in which a load on `executor` waits for a connection to `key`: the one on the same loop, where the load was
  /// placed there. The shares of a divided host take turns at loads that were not: these may all come from one loop.
  func pool(for key: ConnectionKey, near executor: LoopExecutor, isPlaced: Bool = true) -> HTTPConnectionPool {
    guard shares.divide(key), let loads else { return pools[index(ofHost: key.host)] }
    if isPlaced, let own = pool(for: key, on: executor) { return own }
    let hash = HTTPTransport.hash(ofHost: key.host)
    let row = loads.row(ofHostWithHash: hash, port: key.port)
    return pool(of: row.nextTurn(), from: index(ofHash: hash))
  }

  /// Whether the connections with `key` are on several loops.
  package func divides(_ key: ConnectionKey) -> Bool { shares.divide(key) }

  /// The loop that is given to a load which begins, and the counter of its share of the host; nil where the host has one
  /// loop. The counter is to be told of the load.
  package func share(forLoadOf key: ConnectionKey) -> (executor: LoopExecutor, loads: HostLoads.Counter)? {
    guard shares.divide(key), let loads else { return nil }
    let hash = HTTPTransport.hash(ofHost: key.host)
    let counters = loads.row(ofHostWithHash: hash, port: key.port).counters
    let share = HostShares.place(among: counters.lazy.map(\.count)) ?? 0
    return (pool(of: share, from: index(ofHash: hash)).executor, counters[share])
  }

  /// The pool with a share of the host whose first share is in the pool with the index `first`.
  private func pool(of share: Int, from first: Int) -> HTTPConnectionPool { pools[(first + share) % pools.count] }

  private func index(ofHost host: String?) -> Int {
    guard pools.count > 1, let host else { return 0 }
    return index(ofHash: HTTPTransport.hash(ofHost: host))
  }

  private func index(ofHash hash: UInt64) -> Int { Int(hash % UInt64(pools.count)) }

  /// FNV-1a: cheap, and the same for the life of the process.
  private static func hash(ofHost host: String) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in host.utf8 { hash = (hash ^ UInt64(byte | 0x20)) &* 0x100_0000_01b3 }
    return hash
  }

  /// A wait for an exchange with `key`; see `ConnectionWaiter`. `handshake` answers what a new secure connection asks;
  /// without it the TLS library judges the server by the session's store, and HTTP/3 is not tried. `changesProtocol` when
  /// a stream is wanted for another protocol: the wait fails with `requiresHTTP1` where there is none to be had.
  /// `assumesHTTP3` when HTTP/3 is tried though the server has not announced it. `mayBeEarlyData` when the request may be
  /// sent before a handshake is complete. `allowsStaleNames` when addresses may be used that were looked up long ago.
  /// `isPlaced` when the load was given the loop of `caller` as a share of a host.
  package func lease(
    for key: ConnectionKey, priority: Float, caller: LoopExecutor, handshake: (any HandshakeClient)? = nil,
    changesProtocol: Bool = false, assumesHTTP3: Bool = false, mayBeEarlyData: Bool = false,
    allowsStaleNames: Bool = false, isPlaced: Bool = true
  ) -> ConnectionWaiter {
    ConnectionWaiter(
      pool: pool(for: key, near: caller, isPlaced: isPlaced), key: key, priority: priority, caller: caller,
      handshake: handshake, changesProtocol: changesProtocol, assumesHTTP3: assumesHTTP3,
      mayBeEarlyData: mayBeEarlyData, allowsStaleNames: allowsStaleNames)
  }

  deinit { shutDown() }

  /// Closes every connection that no exchange is using; those in use are closed when they end. What servers gave for the
  /// next handshake is forgotten.
  package func closeIdleConnections() {
    tls.forgetSessions()
    for pool in pools { pool.executor.loop.execute { pool.retireConnections() } }
    for other in others.withLock({ Array($0.values) }) { other.closeIdleConnections() }
  }

  /// Closes everything. Exchanges under way fail with `shutDown`, and so do later ones.
  package func shutDown() {
    for pool in pools { pool.executor.loop.execute { pool.shutDown() } }
    for other in others.withLock({ Array($0.values) }) { other.shutDown() }
  }

  /// The connections of another protocol that live and end with those of this session; made when they are asked for
  /// first.
  package func connections<Others: OtherConnections>(_ type: Others.Type, make: () -> Others) -> Others {
    others.withLock { others in
      if let made = others[ObjectIdentifier(type)] as? Others { return made }
      let made = make()
      others[ObjectIdentifier(type)] = made
      return made
    }
  }

  /// Open connections, the idle ones included.
  package func connectionCount() async -> Int { await connectionCounts().reduce(0, +) }

  /// Open connections on each loop, the idle ones included.
  func connectionCounts() async -> [Int] {
    var counts: [Int] = []
    for pool in pools {
      counts.append((try? await pool.executor.loop.submit { pool.connectionCount }.get()) ?? 0)
    }
    return counts
  }
}
