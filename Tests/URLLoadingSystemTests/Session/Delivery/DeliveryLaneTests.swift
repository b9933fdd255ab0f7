import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

@Suite struct DeliveryLaneTests {
  @Test(arguments: [1, 4])
  func keepsTheOrderOnAnyQueue(_ width: Int) async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = width
    let lane = DeliveryLane(to: queue)
    let seen = Recorder<Int>()
    for number in 0..<1000 {
      lane.append {
        #expect(OperationQueue.current === queue)
        seen.record(number)
      }
    }
    #expect(try await seen.first(1000) == Array(0..<1000))
  }

  @Test func sharesASerialQueue() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = true
    let lane = DeliveryLane(to: queue)
    let seen = Recorder<Int>()
    for number in 0..<300 { lane.append { seen.record(number) } }
    queue.addOperation { seen.record(-1) }
    queue.isSuspended = false
    let order = try await seen.first(301)
    // The other operation does not wait for all that was in the mailbox.
    let place = try #require(order.firstIndex(of: -1))
    #expect(place > 0 && place < 300)
  }

  /// Apps put what a task's events need into the delegate queue and resume the task then.
  @Test func whatIsQueuedBeforeAnEventRunsBeforeIt() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let lane = DeliveryLane(to: queue, isAlone: true)
    let seen = Recorder<Int>()
    lane.append {
      queue.addOperation { seen.record(1) }
      lane.append { seen.record(2) }
      seen.record(0)
    }
    #expect(try await seen.first(3) == [0, 1, 2])
  }

  /// Runs its blocks when told to, and counts how often it is asked for other work.
  private final class ManualTarget: DeliveryTarget {
    private struct State {
      var blocks: [@Sendable () -> Void] = []
      var questions = 0
      var hasOtherWork = false
    }

    private let state = Mutex(State())

    func run(_ block: @escaping @Sendable () -> Void) { state.withLock { $0.blocks.append(block) } }

    var hasOtherWork: Bool {
      state.withLock { state in
        state.questions += 1
        return state.hasOtherWork
      }
    }

    var questions: Int { state.withLock { $0.questions } }

    func setOtherWork(_ hasOtherWork: Bool) { state.withLock { $0.hasOtherWork = hasOtherWork } }

    func runNext() {
      let block = state.withLock { $0.blocks.isEmpty ? nil : $0.blocks.removeFirst() }
      block?()
    }
  }

  /// A question may wait for the thread that has put the event into the queue.
  @Test func queueIsAskedForOtherWorkOnlyBetweenEvents() {
    let target = ManualTarget()
    let lane = DeliveryLane(to: target, isAlone: true)
    let seen = Mutex<[Int]>([])
    lane.append { seen.withLock { $0.append(1) } }
    target.runNext()
    #expect(target.questions == 0)
    for number in 2...4 { lane.append { seen.withLock { $0.append(number) } } }
    target.setOtherWork(true)
    target.runNext()
    #expect(seen.withLock { $0 } == [1, 2])
    target.setOtherWork(false)
    target.runNext()
    #expect(seen.withLock { $0 } == [1, 2, 3, 4])
  }

  @Test func anUnansweredQuestionGetsTheFallback() async {
    let answer = await withUnsafeContinuation { waiter in _ = PendingAnswer(waiter, fallback: 7) }
    #expect(answer == 7)
  }

  @Test func theFirstAnswerCounts() async {
    let answer = await withUnsafeContinuation { waiter in
      let pending = PendingAnswer(waiter, fallback: 7)
      pending.give(1)
      pending.give(2)
      pending.abandon()
    }
    #expect(answer == 1)
  }
}
