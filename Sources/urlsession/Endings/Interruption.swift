import Dispatch
import Foundation

/// Ends the program at Control-C or SIGTERM, after a last action.
final class Interruption: Sendable {
  // Kept for as long as the value is; set once.
  nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

  /// - Parameter action: Runs on a queue of its own, for whichever signal comes first.
  init(_ action: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "interruption")
    sources = [(SIGINT, CommandStatus.interrupted), (SIGTERM, .terminated)].map { number, status in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        action()
        exit(status.rawValue)
      }
      source.resume()
      return source
    }
  }

  /// Signals do what they did before.
  func end() {
    for source in sources { source.cancel() }
    signal(SIGINT, SIG_DFL)
    signal(SIGTERM, SIG_DFL)
  }
}
