import CLinux
import Dispatch
import Foundation
import Synchronization

/// Tells when the machine's network changed: a link came up, an address or a route appeared or went.
///
/// Listens on a netlink socket while somebody is interested, and costs nothing otherwise. What changed is not said:
/// whoever waits for a connection tries again.
package final class NetworkMonitor: Sendable {
  package static let shared = NetworkMonitor()

  package typealias Token = Int

  private struct State {
    var lastToken = 0
    var observers: [Token: @Sendable () -> Void] = [:]
    var source: SourceBox?
    var generation = 0
  }

  /// A dispatch source is safe to cancel from any thread; its type does not say so.
  private struct SourceBox: @unchecked Sendable { let source: any DispatchSourceRead }

  private let queue = DispatchQueue(label: "network-monitor")
  private let state = Mutex(State())

  /// Calls `changed` after every change from now on, on a queue of the monitor's own, until `remove`.
  /// nil when the kernel gives no notice: there is nothing to wait for.
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

  /// A number that is another one after a change. Counts while somebody listens.
  package var generation: Int { state.withLock { $0.generation } }

  package func remove(_ token: Token) {
    let idle = state.withLock { state -> SourceBox? in
      state.observers[token] = nil
      guard state.observers.isEmpty else { return nil }
      defer { state.source = nil }
      return state.source
    }
    idle?.source.cancel()
  }

  private func makeSource() -> SourceBox? {
    let descriptor = clinux_open_route_monitor()
    guard descriptor >= 0 else { return nil }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in
      NetworkMonitor.drain(descriptor)
      self?.tell()
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
    return SourceBox(source: source)
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
