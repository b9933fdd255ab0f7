import Dispatch
import Foundation
import SystemServices
import TransferService

/// Tells the service manager twice in its interval that the engine still answers; when it does not, nothing is told
/// and the manager starts the service anew.
final class Watchdog {
  private let timer: (any DispatchSourceTimer)?

  init(notifier: ServiceNotifier, engine: TransferEngine) {
    guard let interval = notifier.watchdogInterval else {
      timer = nil
      return
    }
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now(), repeating: interval / 2)
    timer.setEventHandler { engine.ping { notifier.watchdog() } }
    timer.resume()
    self.timer = timer
  }

  func stop() { timer?.cancel() }
}
