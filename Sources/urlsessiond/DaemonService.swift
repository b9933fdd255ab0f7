import Foundation
import Logging
import ServiceLifecycle
import SystemServices
import TransferService

/// The transfer service as a `Service`: starts, serves until there is nothing to do or a shutdown is asked for, and
/// closes the queue.
struct DaemonService: Service {
  let configuration: TransferDaemon.Configuration
  let notifier: ServiceNotifier

  func run() async throws {
    try await withGracefulShutdownHandler {
      try await serve()
    } onGracefulShutdown: {
      DefaultSignals.restore()
    }
  }

  private func serve() async throws {
    let log = configuration.log
    guard let daemon = try await ServiceStart.start(configuration, log: log) else { return }
    let endpoint = configuration.adoptedSocket == nil ? configuration.socketPath : "the service manager's socket"
    log.notice("serving on \(endpoint), state in \(configuration.stateDirectory)")
    notifier.ready()
    let watchdog = Task { await Watchdog(notifier: notifier, engine: daemon.engine).run() }
    await cancelWhenGracefulShutdown { await daemon.untilIdle() }
    let damage = daemon.damage
    let cause = Task.isShuttingDownGracefully ? "a signal asked for it" : "there is nothing to do"
    log.notice("ending: \(damage == nil ? cause : "the queue is damaged")")
    notifier.stopping()
    watchdog.cancel()
    await daemon.shutDown()
    // Not an end of its own accord, so another service is started at once, and sets the queue aside.
    if let damage, !Task.isShuttingDownGracefully { throw QueueDamaged(reason: damage) }
  }
}

/// The queue turned out to be damaged while the service used it.
struct QueueDamaged: Error, CustomStringConvertible {
  let reason: String
  var description: String { "the queue is damaged: \(reason)" }
}
