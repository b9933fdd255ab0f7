import Foundation
import UnixSignals

/// Ends the program at Control-C or SIGTERM, after a last action.
struct Interruption: Sendable {
  private let signals: [UnixSignal]
  private let listening: Task<Void, Never>

  /// Returns when the signals are listened to. A signal that comes before ends the program in the default way; none is
  /// lost.
  ///
  /// - Parameters:
  ///   - ending: Runs after the action, with the signal.
  ///   - action: Runs once, for the signal that comes first.
  init(
    _ signals: [UnixSignal] = [.sigint, .sigterm], ending: @escaping @Sendable (UnixSignal) -> Void = Interruption.exit,
    action: @escaping @Sendable () -> Void
  ) async {
    self.signals = signals
    let sequence = await UnixSignalsSequence(trapping: signals)
    listening = Task {
      for await signal in sequence {
        action()
        return ending(signal)
      }
    }
  }

  /// Signals have their default effect again.
  func end() {
    listening.cancel()
    for number in signals { signal(number.rawValue, SIG_DFL) }
  }

  @Sendable private static func exit(_ signal: UnixSignal) {
    let status: CommandStatus = signal == .sigint ? .interrupted : .terminated
    Foundation.exit(status.rawValue)
  }
}
