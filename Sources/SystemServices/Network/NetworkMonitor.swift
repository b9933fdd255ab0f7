import CLinux
import Dispatch
import Foundation
import Synchronization

/// Tells when the machine's network changed: when its `NetworkDigest` is another one.
///
/// While there are observers it listens on a netlink socket, and costs nothing otherwise. The kernel tells of much more than
/// counts here, and of one change in many messages: a moment after the first of them the digest is compared. Where such
/// sockets are refused, as in some sandboxes, no timer runs: users of what they keep call `lookIfUnreported`.
package final class NetworkMonitor: Sendable {
  package static let shared = NetworkMonitor()

  package typealias Token = Int

  private struct State {
    var lastToken = 0
    var observers: [Token: @Sendable () -> Void] = [:]
    var source: (any DispatchSourceRead)?
    var generation = 0
    /// nil without observers.
    var digest: NetworkDigest?
    /// The time of the last look where the kernel reports nothing.
    var looked = BootInstant(nanoseconds: 0)
    var isLookScheduled = false
  }

  private let queue = DispatchQueue(label: "network-monitor")
  private let state = Mutex(State())
  private let open: @Sendable () -> Int32
  private let read: @Sendable () -> NetworkDigest
  private let pause: DispatchTimeInterval

  /// How often the digest is compared where the kernel reports nothing, in seconds.
  private static let lookInterval: Double = 1

  package convenience init() {
    self.init(open: { clinux_open_route_monitor() }, read: { NetworkDigest.current() })
  }

  /// - Parameters:
  ///   - open: Returns a socket that can be read when the kernel has reported something; -1 for none.
  ///   - read: The present digest.
  ///   - pause: How long after the first message of a burst the digest is compared.
  init(
    open: @escaping @Sendable () -> Int32, read: @escaping @Sendable () -> NetworkDigest,
    pause: DispatchTimeInterval = .milliseconds(100)
  ) {
    self.open = open
    self.read = read
    self.pause = pause
  }

  /// The socket is closed when the source has been cancelled.
  deinit { state.withLock { $0.source?.cancel() } }

  /// Calls `changed` after every change from now on, on a thread of the monitor's choice, until `remove`.
  package func add(_ changed: @escaping @Sendable () -> Void) -> Token {
    state.withLock { state in
      if state.observers.isEmpty {
        // Before the digest is read, so that no change is missed in between.
        state.source = makeSource()
        state.digest = read()
        state.looked = .now()
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
      guard state.observers.removeValue(forKey: token) != nil, state.observers.isEmpty else { return }
      // Calls nothing here: its handler runs later, on the queue.
      state.source?.cancel()
      state.source = nil
      state.digest = nil
    }
  }

  // MARK: Where the kernel reports changes

  private func makeSource() -> sending (any DispatchSourceRead)? {
    let descriptor = open()
    guard descriptor >= 0 else { return nil }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in
      NetworkMonitor.drain(descriptor)
      self?.reported()
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
    return source
  }

  private static let mostReads = 64

  /// The messages are only counted as one. ENOBUFS, too, means that something may have changed. Some are left for the next
  /// turn of the queue where the kernel sends them without end, as a router with all routes of the Internet does: the look at
  /// the digest has to have its turn.
  private static func drain(_ descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    for _ in 0..<mostReads where recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) <= 0 { return }
  }

  private func reported() {
    dispatchPrecondition(condition: .onQueue(queue))
    let isFirst = state.withLock { state in
      defer { state.isLookScheduled = true }
      return !state.isLookScheduled
    }
    guard isFirst else { return }
    queue.asyncAfter(deadline: .now() + pause) { [weak self] in self?.look() }
  }

  private func look() {
    dispatchPrecondition(condition: .onQueue(queue))
    // A change that is reported from here on may come too late for the digest below.
    state.withLock { $0.isLookScheduled = false }
    compare()
  }

  // MARK: Where it does not

  /// Looks for a change where the kernel reports none, once a second at most; the observers have been called when this returns.
  /// Does nothing elsewhere. For those who are about to use what they keep for one network.
  package func lookIfUnreported(at now: BootInstant = .now()) {
    let isDue = state.withLock { state in
      guard !state.observers.isEmpty, state.source == nil, now - state.looked >= NetworkMonitor.lookInterval else {
        return false
      }
      state.looked = now
      return true
    }
    if isDue { compare() }
  }

  private func compare() {
    let digest = read()
    let observers = state.withLock { state -> [@Sendable () -> Void] in
      guard let known = state.digest, known != digest else { return [] }
      state.digest = digest
      state.generation += 1
      return Array(state.observers.values)
    }
    for observer in observers { observer() }
  }
}
