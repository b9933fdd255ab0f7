import Synchronization
import SystemServices

/// A watch over the machine's network for an object that keeps what another network makes worthless. It costs nothing
/// while nothing is kept. Usable from any thread.
final class NetworkWatch: Sendable {
  private let networks: any NetworkDescribing
  private let token = Mutex<NetworkMonitor.Token?>(nil)

  init(_ networks: any NetworkDescribing) { self.networks = networks }

  deinit { if let token = token.withLock({ $0 }) { networks.remove(token) } }

  /// Calls `changed`, on any thread, after each change from now on until `end`. Does nothing while the watch is on.
  func begin(_ changed: @escaping @Sendable () -> Void) { update(isNeeded: { true }, changed) }

  /// Before something is used or noted that is kept for one network: a change of which nothing was reported is told of before
  /// this returns. Not to be called in a lock that the owner takes to forget things.
  func catchUp() { networks.lookForChange() }

  func end() { update(isNeeded: { false }) {} }

  /// Begins or ends the watch, as `isNeeded` says. The question is asked in the watch's own lock, so that of two threads that
  /// keep and drop something at the same time the later one decides; `changed` is never called in it.
  func update(isNeeded: () -> Bool, _ changed: @escaping @Sendable () -> Void) {
    token.withLock { token in
      switch (isNeeded(), token) {
      case (true, nil): token = networks.add(changed)
      case (false, let old?):
        networks.remove(old)
        token = nil
      default: break
      }
    }
  }
}
