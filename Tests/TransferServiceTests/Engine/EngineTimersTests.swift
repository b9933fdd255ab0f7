import Dispatch
import LoopbackServer
import Testing

@testable import TransferService

@Suite struct EngineTimersTests {
  private let queue = DispatchQueue(label: "tests.timers")
  private let fired = Recorder<Int>()

  @Test func aTimerThatIsSetAgainFiresOnce() async throws {
    let (timers, fired) = (EngineTimers(queue: queue), fired)
    queue.sync {
      timers.set(.idle, in: 0.01) { fired.record(1) }
      timers.set(.idle, in: 0.01) { fired.record(2) }
      timers.set(.network, in: 0.05) { fired.record(3) }
      #expect(timers.isSet(.idle) && timers.isSet(.network))
    }
    #expect(try await [fired.next(), fired.next()] == [2, 3])
    queue.sync { #expect(timers.isEmpty) }
  }

  @Test func aCancelledTimerDoesNotFire() async throws {
    let (timers, fired) = (EngineTimers(queue: queue), fired)
    queue.sync {
      timers.set(.end(1), in: 0.01) { fired.record(1) }
      timers.set(.end(2), in: 0.01) { fired.record(2) }
      timers.cancel(.end(1))
      #expect(!timers.isSet(.end(1)))
      timers.set(.end(3), in: 0.05) { fired.record(3) }
    }
    #expect(try await [fired.next(), fired.next()] == [2, 3])
  }

  @Test func allTimersAreCancelledTogether() async throws {
    let (timers, fired) = (EngineTimers(queue: queue), fired)
    queue.sync {
      timers.set(.launch(1), in: 0.01) { fired.record(1) }
      timers.set(.delivery(1), in: 0.01) { fired.record(2) }
      timers.cancelAll()
      #expect(timers.isEmpty)
      timers.set(.schedule, in: 0.05) { fired.record(3) }
    }
    #expect(try await fired.next() == 3)
  }
}
