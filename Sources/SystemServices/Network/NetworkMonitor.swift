import CLinux
import Dispatch
import Foundation
import Synchronization

/// Tells when the machine's network changed: a link came up, an address or a route appeared or went.
///
/// Listens on a netlink socket while there are observers, and costs nothing otherwise. It does not say what changed:
/// loads that wait for a network try again.
package final class NetworkMonitor: Sendable {
  package static let shared = NetworkMonitor()

  package typealias Token = Int

  private struct State {
    var lastToken = 0
    var observers: [Token: @Sendable () -> Void] = [:]
    var source: (any DispatchSourceRead)?
    var generation = 0
  }

  private let queue = DispatchQueue(label: "network-monitor")
  private let state = Mutex(State())

  /// Calls `changed` after every change from now on, on a queue of the monitor's own, until `remove`.
  /// nil when the kernel does not report changes.
  package func add(_ changed: @escaping @Sendable () -> Void) -> Token? {
    state.withLock { state in
      if state.source == nil {
        guard let source = makeSource() else { return nil }
        state.source = source
      }
      state.lastToken += 1
      state.observers[state.lastToken] = changed
      return state.lastToken
    }
  }

  /// A number that changes with the network, while there are observers.
  package var generation: Int { state.withLock { $0.generation } }

  package func remove(_ token: Token) {
    state.withLock { state in
      state.observers[token] = nil
      guard state.observers.isEmpty else { return }
      // Calls nothing here: its handler runs later, on the queue.
      state.source?.cancel()
      state.source = nil
    }
  }

  private func makeSource() -> sending (any DispatchSourceRead)? {
    let descriptor = clinux_open_route_monitor()
    guard descriptor >= 0 else { return nil }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in
      NetworkMonitor.drain(descriptor)
      self?.tell()
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
    return source
  }

  /// The messages are only counted as one change. ENOBUFS, too, means that something changed.
  private static func drain(_ descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    while recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
  }

  private func tell() {
    let observers = state.withLock { state in
      state.generation += 1
      return Array(state.observers.values)
    }
    for observer in observers { observer() }
  }
}
