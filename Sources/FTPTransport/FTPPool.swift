import HTTPSemantics
import HTTPTransport
import NIOCore

/// The control connections on one event loop: those that are kept for the next session, and how many there are at a
/// host. Confined to its loop.
///
/// A connection is kept with the login that it was made for, and serves no other.
package final class FTPPool: @unchecked Sendable {
  /// All that two sessions must have in common to use one connection after another.
  struct Key: Hashable {
    let server: ConnectionKey
    let security: FTPSecurity
    let login: FTPLogin

    var host: Host { Host(name: server.host, port: server.port) }
  }

  struct Host: Hashable {
    let name: String
    let port: Int
  }

  /// The answer to a session that wants a connection.
  enum Lease {
    case kept(FTPConnection)
    /// It may make one.
    case place
  }

  /// A session that waits. It keeps its place in the queue until it has taken a connection or a place for one.
  final class Waiter {
    fileprivate(set) var result: LoopResult<Void>
    init(on loop: any EventLoop) { result = LoopResult(on: loop) }
  }

  private struct Kept {
    let key: Key
    let connection: FTPConnection
    let timer: Scheduled<Void>
  }

  let loop: any EventLoop
  private let maximumPerHost: Int
  /// The one that was used last comes last.
  private var kept: [Kept] = []
  /// Connections and places, by host; the kept ones are among them.
  private var counts: [Host: Int] = [:]
  private var waiters: [Host: [Waiter]] = [:]
  private var isShutDown = false

  /// Servers close idle connections after some minutes.
  private static let idleTime = TimeAmount.seconds(60)

  init(maximumPerHost: Int, executor: LoopExecutor) {
    loop = executor.loop
    self.maximumPerHost = max(1, maximumPerHost)
  }

  /// A connection, or a place for one, when the host has one to give; nil when it has none, or when other sessions wait
  /// for it already, and is to be waited for.
  ///
  /// - Parameter waiter: The session's place in the queue, which has been called; nil for a session that has not waited.
  func take(_ key: Key, toReach steps: [FTPCommand], as waiter: Waiter? = nil) throws -> Lease? {
    loop.assertInEventLoop()
    guard !isShutDown else { throw TransportError.shutDown }
    guard waiter != nil || waiters[key.host] == nil else { return nil }
    guard let lease = lease(key, toReach: steps) else { return nil }
    if let waiter { remove(waiter, at: key.host) }
    return lease
  }

  private func lease(_ key: Key, toReach steps: [FTPCommand]) -> Lease? {
    if let index = kept.lastIndex(where: { $0.key == key && $0.connection.leads(to: steps) }) {
      return .kept(remove(at: index))
    }
    if counts[key.host, default: 0] < maximumPerHost {
      counts[key.host, default: 0] += 1
      return .place
    }
    // One that is of no use here gives up its place.
    guard let index = kept.firstIndex(where: { $0.key.host == key.host }) else { return nil }
    remove(at: index).quit()
    return .place
  }

  func wait(for key: Key) -> Waiter {
    loop.assertInEventLoop()
    let waiter = Waiter(on: loop)
    waiters[key.host, default: []].append(waiter)
    return waiter
  }

  /// Has a session that was called in vain wait again, in the same place of the queue.
  func waitAgain(_ waiter: Waiter) {
    loop.assertInEventLoop()
    waiter.result = LoopResult(on: loop)
  }

  func giveUp(_ waiter: Waiter, for key: Key, _ error: any Error) {
    loop.assertInEventLoop()
    waiter.result.fail(error)
    remove(waiter, at: key.host)
  }

  /// Takes a session out of the queue. What it was called for, and has not taken, is for the next one.
  private func remove(_ waiter: Waiter, at host: Host) {
    guard var waiting = waiters[host] else { return }
    waiting.removeAll { $0 === waiter }
    waiters[host] = waiting.isEmpty ? nil : waiting
    callNext(at: host)
  }

  /// Takes a connection back, which may be kept, or the place of one that is no more.
  func giveBack(_ connection: FTPConnection?, of key: Key) {
    loop.assertInEventLoop()
    if let connection, connection.isReusable, !isShutDown {
      connection.handshake.client = nil
      connection.onEnd = { [weak self, weak connection] in
        if let self, let connection { self.drop(connection) }
      }
      let timer = loop.assumeIsolated().scheduleTask(in: FTPPool.idleTime) { [weak self, weak connection] () -> Void in
        if let self, let connection { self.drop(connection) }
      }
      kept.append(Kept(key: key, connection: connection, timer: timer))
    } else {
      connection?.quit()
      leave(key.host)
    }
    callNext(at: key.host)
  }

  private func remove(at index: Int) -> FTPConnection {
    let entry = kept.remove(at: index)
    entry.timer.cancel()
    entry.connection.onEnd = {}
    return entry.connection
  }

  /// Closes a connection that is kept.
  private func drop(_ connection: FTPConnection) {
    loop.assertInEventLoop()
    guard let index = kept.firstIndex(where: { $0.connection === connection }) else { return }
    let host = kept[index].key.host
    remove(at: index).quit()
    leave(host)
    callNext(at: host)
  }

  private func leave(_ host: Host) {
    let count = counts[host, default: 0] - 1
    counts[host] = count > 0 ? count : nil
  }

  /// Calls the session that has waited longest and was not called, where there is more than those that were called take.
  private func callNext(at host: Host) {
    guard let waiting = waiters[host] else { return }
    let free = maximumPerHost - counts[host, default: 0] + kept.count { $0.key.host == host }
    guard free > waiting.count(where: { $0.result.isSet }) else { return }
    waiting.first { !$0.result.isSet }?.result.succeed()
  }

  func retireConnections() {
    loop.assertInEventLoop()
    while let entry = kept.last { drop(entry.connection) }
  }

  func shutDown() {
    loop.assertInEventLoop()
    isShutDown = true
    let waiting = waiters.values.joined()
    waiters = [:]
    for waiter in waiting { waiter.result.fail(TransportError.shutDown) }
    retireConnections()
  }
}
