import Dispatch
import HTTPTransport
import LoopbackServer
import NIOCore
import Testing

@testable import URLLoadingSystem

@Suite struct LoadControlTests {
  private final class Wait: Abortable {
    private let aborted: @Sendable () -> Void

    init(_ aborted: @escaping @Sendable () -> Void) { self.aborted = aborted }

    func abort(_ error: any Error) { aborted() }
  }

  /// Two loads that are not on the loop's thread yet, of which the first one's end calls what blocks.
  @Test func anEndThatTakesLongHoldsNoOtherDeadlineUp() async throws {
    let executor = LoopExecutor.all[0]
    let (holds, goesOn, end) = (Gate(), Gate(), DispatchSemaphore(value: 0))
    func start(_ aborted: @escaping @Sendable () -> Void) {
      let loop = InlineEventLoop(host: executor.loop)
      let control = LoadControl(loop: loop, sweeper: executor.sweeper)
      loop.execute {
        control.wait = Wait(aborted)
        control.startTimers(idle: 0.001, resource: 0)
      }
    }
    defer { end.signal() }
    start {
      holds.open()
      end.wait()
    }
    try await holds.wait(within: patience)
    start { goesOn.open() }
    try await goesOn.wait(within: patience)
  }
}
