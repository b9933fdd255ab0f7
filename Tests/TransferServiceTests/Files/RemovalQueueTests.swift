import Dispatch
import LoopbackServer
import Testing

@testable import TransferService

@Suite struct RemovalQueueTests {
  @Test func removalsAreMadeInTheirOrderAndTheLastOneIsTold() async throws {
    let removals = RemovalQueue()
    let done = Recorder<Int>()
    let mayBegin = DispatchSemaphore(value: 0)
    #expect(removals.isIdle)
    removals.run { mayBegin.wait() }
    for number in 1...100 { removals.run { done.record(number) } }
    let isIdle = Gate()
    removals.whenIdle { isIdle.open() }
    #expect(!removals.isIdle && !isIdle.isOpen)
    mayBegin.signal()
    try await isIdle.wait(within: patience)
    #expect(done.all == Array(1...100) && removals.isIdle)
    // At once.
    let isStillIdle = Gate()
    removals.whenIdle { isStillIdle.open() }
    #expect(isStillIdle.isOpen)
  }
}
