import Foundation
import HTTPTransport
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

  /// An app that cancels the operations of its delegate queue means its own.
  @Test(arguments: [false, true])
  func cancellingAllOperationsLosesNoEvent(_ isOfTheSession: Bool) async throws {
    let own = OwnDeliveryQueue()
    let queue = isOfTheSession ? own.operations : OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let lane = isOfTheSession ? DeliveryLane(to: own, isAlone: true) : DeliveryLane(to: queue, isAlone: true)
    let seen = Recorder<Int>()
    queue.isSuspended = true
    lane.append { seen.record(1) }
    queue.addOperation { seen.record(-1) }
    queue.cancelAllOperations()
    queue.isSuspended = false
    lane.append { seen.record(2) }
    #expect(try await seen.first(2) == [1, 2])
  }

  @Test func anOperationHasTheQualityOfItsQueue() {
    let queue = OperationQueue()
    queue.isSuspended = true
    queue.qualityOfService = .utility
    queue.addDelivery {}
    #expect(queue.operations.map(\.qualityOfService) == [.utility])
    queue.isSuspended = false
  }

  /// What a lane asks of its target between two events is of no use behind the last one.
  @Test func asksForOtherWorkBetweenEventsOnly() {
    let target = CountingTarget()
    let lane = DeliveryLane(to: target, isAlone: true)
    lane.append {}
    target.runNext()
    #expect(target.questions == 0)
    for _ in 0..<3 { lane.append {} }
    target.runNext()
    #expect(target.questions == 2)
    #expect(target.waiting == 0)
  }

  /// An event that gives way stays the next one.
  @Test func anEventThatGivesWayKeepsItsPlace() {
    let target = CountingTarget()
    let lane = DeliveryLane(to: target, isAlone: true)
    let seen = Mutex<[Int]>([])
    for number in 0..<3 { lane.append { seen.withLock { $0.append(number) } } }
    target.hasOther.withLock { $0 = true }
    target.runNext()
    #expect(seen.withLock { $0 } == [0])
    lane.append { seen.withLock { $0.append(3) } }
    target.hasOther.withLock { $0 = false }
    target.runNext()
    #expect(seen.withLock { $0 } == [0, 1, 2, 3])
  }

  /// As where each event is an operation of its own. The app may suspend the queue in a call of its delegate.
  @Test(arguments: [false, true]) func anEventThatSuspendsTheTargetIsTheLastOne(_ isAlone: Bool) {
    let target = CountingTarget()
    let lane = DeliveryLane(to: target, isAlone: isAlone)
    let seen = Mutex<[Int]>([])
    lane.append {
      target.suspended.withLock { $0 = true }
      seen.withLock { $0.append(0) }
    }
    for number in 1..<3 { lane.append { seen.withLock { $0.append(number) } } }
    target.runNext()
    #expect(seen.withLock { $0 } == [0] && target.waiting == 1)
    target.suspended.withLock { $0 = false }
    target.runNext()
    #expect(seen.withLock { $0 } == [0, 1, 2] && target.waiting == 0)
  }

  @Test(arguments: [(1, false), (4, false), (1, true)])
  func anEventThatSuspendsTheQueueIsTheLastOne(_ width: Int, _ isOfTheSession: Bool) async throws {
    let own = OwnDeliveryQueue()
    let queue = isOfTheSession ? own.operations : OperationQueue()
    queue.maxConcurrentOperationCount = width
    let lane =
      isOfTheSession ? DeliveryLane(to: own, isAlone: true) : DeliveryLane(to: queue, isAlone: width == 1)
    let seen = Recorder<Int>()
    queue.isSuspended = true
    lane.append {
      queue.isSuspended = true
      seen.record(1)
    }
    lane.append { seen.record(2) }
    queue.isSuspended = false
    try await eventually("the next operation to be held") {
      queue.operations.map(\.isExecuting) == [false] && seen.all == [1]
    }
    queue.isSuspended = false
    #expect(try await seen.first(2) == [1, 2])
  }

  /// As where the loads of one turn of a loop end together.
  @Test func whatATurnOfALoopTellsIsOneOperation() async throws {
    let executor = try #require(LoopExecutor.all.first)
    let target = InstantTarget()
    let lane = DeliveryLane(to: target, isAlone: true)
    let seen = Recorder<Int>()
    executor.loop.execute {
      executor.schedule {
        lane.append({ seen.record(0) }, from: executor)
        for number in 1..<4 {
          executor.afterJobs { lane.append({ seen.record(number) }, from: executor) }
        }
      }
    }
    #expect(try await seen.first(4) == Array(0..<4))
    #expect(target.runs == 1)
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

/// Runs what it is given at once.
private final class InstantTarget: DeliveryTarget {
  private let count = Mutex(0)

  var runs: Int { count.withLock { $0 } }

  func run(_ block: @escaping @Sendable () -> Void) {
    count.withLock { $0 += 1 }
    block()
  }

  var hasOtherWork: Bool { false }

  var isSuspended: Bool { false }
}

/// Runs what it is given when it is told to, and counts the questions for other work.
private final class CountingTarget: DeliveryTarget {
  let hasOther = Mutex(false)
  let suspended = Mutex(false)
  private let blocks = Mutex<[@Sendable () -> Void]>([])
  private let count = Mutex(0)

  var questions: Int { count.withLock { $0 } }

  var waiting: Int { blocks.withLock { $0.count } }

  func run(_ block: @escaping @Sendable () -> Void) { blocks.withLock { $0.append(block) } }

  var hasOtherWork: Bool {
    count.withLock { $0 += 1 }
    return hasOther.withLock { $0 }
  }

  var isSuspended: Bool { suspended.withLock { $0 } }

  func runNext() {
    let block = blocks.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    block?()
  }
}
