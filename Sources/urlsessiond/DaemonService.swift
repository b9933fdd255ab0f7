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
    log.notice("ending: \(Task.isShuttingDownGracefully ? "a signal asked for it" : "there is nothing to do")")
    notifier.stopping()
    watchdog.cancel()
    await daemon.shutDown()
  }
}
