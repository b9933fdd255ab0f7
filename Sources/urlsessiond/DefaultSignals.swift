import Foundation
import Logging
import ServiceLifecycle

/// The signals that ask the service or its supervisor to end.
enum DefaultSignals {
  /// After the first of them a second one ends the process at once, as it does by default.
  static func restore() {
    signal(SIGTERM, SIG_DFL)
    signal(SIGINT, SIG_DFL)
  }
}

extension ServiceGroup {
  /// Runs one service until it ends by itself, or until SIGTERM or SIGINT has shut it down.
  static func run(_ service: some Service, name: String, log: Logger) async throws {
    // A detached service has no terminal, so the end of one means nothing to it.
    signal(SIGHUP, SIG_IGN)
    let configuration = ServiceGroupConfiguration(
      services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup, serviceName: name)],
      gracefulShutdownSignals: [.sigterm, .sigint], logger: log)
    try await ServiceGroup(configuration: configuration).run()
  }
}
