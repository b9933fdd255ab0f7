import NIOCore

/// One wait for a moment on an event loop, which `end` cuts short. Confined to the loop.
package final class LoopSleep: @unchecked Sendable {
  private let result: LoopResult<Void>
  private let timer: Scheduled<Void>
  private let loop: any EventLoop

  /// Begins the wait.
  package init(for time: TimeAmount, on loop: any EventLoop) {
    let result = LoopResult<Void>(on: loop)
    self.result = result
    self.loop = loop
    timer = loop.assumeIsolated().scheduleTask(in: time) { result.succeed() }
  }

  /// Returns when the time has passed or the wait was ended. Throws the error that it was ended with. Called once.
  package func wait() async throws { try await result.get() }

  /// Ends the wait now: `wait` returns, or throws `error`.
  package func end(_ error: (any Error)? = nil) {
    loop.assertInEventLoop()
    timer.cancel()
    if let error { result.fail(error) } else { result.succeed() }
  }
}
