import Foundation
import HTTPTransport
import NIOCore
import SystemServices

/// Waits for a network when there is none and the session is willing to (`waitsForConnectivity`).
///
/// The client is told once a load. Meanwhile the idle timer rests and the resource timer runs. Each change to the
/// machine's links, addresses or routes ends the wait, and the load tries again.
enum ConnectivityWait {
  /// Whether `error` means that there is no network, rather than that a server can't be reached.
  static func isNeeded(for error: TransportError) -> Bool {
    switch error {
    case .networkUnreachable, .networkForbidden: true
    // With no route to a name server every lookup fails, so its error is ignored.
    case .hostNotFound, .unprovenName: !NetworkRoutes.leadToNames
    case .proxyFailed(let failure): if case .notFound = failure.cause { !NetworkRoutes.leadToNames } else { false }
    default: false
    }
  }

  /// The error that the app is told in place of `error`: that there is no network, where that is behind it.
  static func cause(of error: TransportError) -> TransportError {
    if case .networkForbidden = error { return error }
    return isNeeded(for: error) ? .networkUnreachable : error
  }

  /// Returns after the next change. Throws what aborts the load.
  static func wait(after error: TransportError, in context: LoadContext) async throws {
    if !context.hasToldOfWaiting {
      context.hasToldOfWaiting = true
      context.client.loadIsWaitingForConnectivity(context)
    }
    let wait = NetworkChange(
      loop: context.loop, networks: context.configuration.transport.networks, patience: patience(after: error))
    defer { wait.end() }
    try await context.control.whileClientHoldsLoad {
      try await context.control.abortable(onAbort: { _ in wait.end() }) { try await wait.awaited() }
    }
  }

  /// For sandboxes in which the kernel gives no notice, and for changes of which they give none: a resolver that works again, a network
  /// that the user calls unmetered.
  private static func patience(after error: TransportError) -> TimeAmount {
    if case .networkForbidden = error { .seconds(5) } else { .seconds(15) }
  }

  /// The next change to the machine's networks. Confined to the load's loop.
  private final class NetworkChange: @unchecked Sendable {
    private let sleep: LoopSleep
    private let loop: any EventLoop
    private let networks: any NetworkDescribing
    private var token: NetworkMonitor.Token?

    init(loop: any EventLoop, networks: any NetworkDescribing, patience: TimeAmount) {
      self.loop = loop
      self.networks = networks
      let sleep = LoopSleep(for: patience, on: loop)
      self.sleep = sleep
      token = networks.add { loop.execute { sleep.end() } }
    }

    func awaited() async throws { try await sleep.wait() }

    func end() {
      loop.assertInEventLoop()
      sleep.end()
      if let token { networks.remove(token) }
      token = nil
    }
  }
}
