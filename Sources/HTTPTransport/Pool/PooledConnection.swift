import NIOCore

/// A connection as the pool sees it, whatever protocol and transport it is of. The pool calls it on its loop.
///
/// It reports to the pool: `exchangeEnded` for each exchange, `draining` and `capacityChanged` as the server asks, and
/// `closed` once.
protocol PooledConnection: AnyObject {
  var id: HTTPConnectionPool.StateMachine.ConnectionID { get }
  /// How many streams the server takes at a time; nil when the connection serves one request at a time.
  var streamLimit: Int? { get }
  /// Whether the server itself has said so.
  var knowsStreamLimit: Bool { get }
  /// Whether an exchange can be started now.
  var isUsable: Bool { get }
  /// How long the server keeps it while it is not in use; nil when the server has not said.
  var serverIdleTimeout: TimeAmount? { get }
  func startExchange() -> any HTTPExchange
  /// It was made, and serves no request yet.
  func keepIdle()
  /// Serves no further request.
  func retire()
  func close()
  /// Fails the exchanges under way with `TransportError.shutDown`, and closes.
  func shutDown()
  /// How many requests wait behind the one under way; nil when no further one may be written behind them.
  var followerCount: Int? { get }
  /// Starts an exchange whose request follows those under way.
  func startFollower() -> any HTTPExchange
}
