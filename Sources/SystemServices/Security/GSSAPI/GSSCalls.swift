import Foundation
import Synchronization

/// Counts the calls into GSS-API that run. At the exit of the process the destructors of the library free its locks, and a
/// call that runs beside them, or after them, ends the process by a signal.
package enum GSSCalls {
  private struct State {
    var running = 0
    var isExiting = false
    var isRegistered = false
  }

  private static let state = Mutex(State())

  /// Runs `body`; nil when the process is ending.
  package static func run<Result>(_ body: () throws -> Result) rethrows -> Result? {
    let mayRun = state.withLock { state -> Bool in
      guard !state.isExiting else { return false }
      // Handlers of the exit run before the destructors of libraries.
      if !state.isRegistered { atexit { GSSCalls.end() } }
      state.isRegistered = true
      state.running += 1
      return true
    }
    guard mayRun else { return nil }
    defer { state.withLock { $0.running -= 1 } }
    return try body()
  }

  /// Lets no further call begin, and waits for those that run: two seconds at most, as a server that does not answer must
  /// not keep the process.
  private static func end() {
    state.withLock { $0.isExiting = true }
    for _ in 0..<2_000 {
      if state.withLock({ $0.running == 0 }) { return }
      usleep(1_000)
    }
  }
}
