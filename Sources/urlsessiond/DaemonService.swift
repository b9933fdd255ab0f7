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
  /// Whether a supervisor asks over descriptor 3 whether the engine answers.
  let answersSupervisor: Bool

  func run() async throws {
    try await withGracefulShutdownHandler {
      try await serve()
    } onGracefulShutdown: {
      DefaultSignals.restore()
    }
  }

  private func serve() async throws {
    let log = configuration.log
    let started = try await ServiceStart.start(configuration, isSupervised: answersSupervisor, log: log)
    guard let daemon = started else { return }
    let endpoint = configuration.adoptedSocket == nil ? configuration.socketPath : "the service manager's socket"
    log.notice("serving on \(endpoint), state in \(configuration.stateDirectory)")
    notifier.ready()
    if answersSupervisor { SupervisorAnswers.start(daemon.engine) }
    let watchdog = Task { await Watchdog(notifier: notifier, engine: daemon.engine).run() }
    await cancelWhenGracefulShutdown { await daemon.untilIdle() }
    let damage = daemon.damage
    let handover = daemon.handover
    let cause = Task.isShuttingDownGracefully ? "a signal asked for it" : "there is nothing to do"
    log.notice("ending: \(damage == nil ? handover?.sentence ?? cause : "the queue is damaged")")
    notifier.stopping()
    watchdog.cancel()
    await daemon.shutDown()
    // Not an end of its own accord, so another service is started at once, and sets the queue aside.
    if Task.isShuttingDownGracefully { return }
    if let damage { throw QueueDamaged(reason: damage) }
    if let handover, handover.needsSuccessor { throw HandedOver(reason: handover) }
  }
}

/// The service has ended so that the next worker goes on with the queue.
struct HandedOver: Error, CustomStringConvertible {
  let reason: Handover
  var description: String { reason.sentence }
}

/// The queue turned out to be damaged while the service used it.
struct QueueDamaged: Error, CustomStringConvertible {
  let reason: String
  var description: String { "the queue is damaged: \(reason)" }
}
