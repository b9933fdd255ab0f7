import Dispatch
import Foundation
import SystemServices

/// Ends the process while a call into GSS-API runs on another thread.
struct ExitProbe {
  private static let exitHasBegun = DispatchSemaphore(value: 0)
  private static let isDestroyed = DispatchSemaphore(value: 0)

  /// Whether the call ends before the library is gone.
  private let returns: Bool

  /// Options: `call=hangs` for a call that never returns by itself.
  init(_ options: [String: String]) { returns = options["call"] != "hangs" }

  /// Prints `returned` when the call was let end, and `destroyed` when the libraries are, in the order in which that
  /// happens.
  func exitDuringCall() {
    // The first handler is called last, in the place of the destructors of libraries.
    atexit { ExitProbe.destroy() }
    let hasBegun = DispatchSemaphore(value: 0)
    Thread { [returns] in
      GSSCalls.run {
        hasBegun.signal()
        ExitProbe.exitHasBegun.wait()
        guard returns else { return ExitProbe.isDestroyed.wait() }
        // In vain where the exit waits for this call.
        let isLate = ExitProbe.isDestroyed.wait(timeout: .now() + .milliseconds(200)) == .success
        SystemProbe.say(isLate ? "destroyed during the call" : "returned")
      }
    }.start()
    hasBegun.wait()
    // The last handler is called first.
    atexit { ExitProbe.exitHasBegun.signal() }
    exit(0)
  }

  private static func destroy() {
    let hasRun = GSSCalls.run { true } ?? false
    SystemProbe.say(hasRun ? "a call began in the exit" : "destroyed")
    isDestroyed.signal()
  }
}
