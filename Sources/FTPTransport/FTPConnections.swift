import HTTPTransport
import NIOConcurrencyHelpers

/// The control connections of a session: a pool an event loop.
package final class FTPConnections: OtherConnections {
  private let maximumPerHost: Int
  private let pools = NIOLockedValueBox<[ObjectIdentifier: FTPPool]>([:])
  private let isShutDown = NIOLockedValueBox(false)

  private init(maximumPerHost: Int) { self.maximumPerHost = maximumPerHost }

  /// Those of the session that `transport` belongs to.
  package static func of(_ transport: HTTPTransport) -> FTPConnections {
    transport.connections(FTPConnections.self) {
      FTPConnections(maximumPerHost: transport.configuration.maximumConnectionsPerHost)
    }
  }

  /// The pool of connections on the loop of `executor`. On that loop.
  package func pool(on executor: LoopExecutor) -> FTPPool {
    let pool = pools.withLockedValue { pools in
      if let made = pools[ObjectIdentifier(executor)] { return made }
      let made = FTPPool(maximumPerHost: maximumPerHost, executor: executor)
      pools[ObjectIdentifier(executor)] = made
      return made
    }
    if isShutDown.withLockedValue({ $0 }) { pool.shutDown() }
    return pool
  }

  package func closeIdleConnections() {
    for pool in pools.withLockedValue({ Array($0.values) }) { pool.loop.execute { pool.retireConnections() } }
  }

  package func shutDown() {
    isShutDown.withLockedValue { $0 = true }
    for pool in pools.withLockedValue({ Array($0.values) }) { pool.loop.execute { pool.shutDown() } }
  }
}
