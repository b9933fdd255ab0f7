import Dispatch
import Foundation

/// SIGTERM and SIGINT as something to wait for. A second one ends the process on the spot.
final class TerminationSignals {
  private let reasons: AsyncStream<String>
  private let told: AsyncStream<String>.Continuation
  private let sources: [any DispatchSourceSignal]

  init() {
    let (reasons, told) = AsyncStream.makeStream(of: String.self)
    self.reasons = reasons
    self.told = told
    // A detached service has no terminal whose end could concern it.
    signal(SIGHUP, SIG_IGN)
    sources = [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")].map { number, name in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        told.yield(name)
        signal(number, SIG_DFL)
      }
      source.resume()
      return source
    }
  }

  deinit { for source in sources { source.cancel() } }

  /// Why the service is to end: a signal, or that `idle` returned.
  func firstOf(idle: @escaping @Sendable () async -> Void) async -> String {
    let told = self.told
    Task {
      await idle()
      told.yield("there is nothing to do")
    }
    for await reason in reasons { return reason }
    return "nobody is left to tell"
  }
}
