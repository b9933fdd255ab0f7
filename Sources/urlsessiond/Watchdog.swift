import Foundation
import SystemServices
import TransferService

/// Tells the service manager twice in its interval that the engine still answers. When the engine does not, nothing is
/// told, and the manager starts the service anew.
struct Watchdog: Sendable {
  let notifier: ServiceNotifier
  let engine: TransferEngine

  /// Returns when the task is cancelled, or at once when the service manager asked for no sign of life.
  func run() async {
    guard let interval = notifier.watchdogInterval else { return }
    while !Task.isCancelled {
      engine.ping { notifier.watchdog() }
      try? await Pause.wait(.seconds(interval / 2))
    }
  }
}
