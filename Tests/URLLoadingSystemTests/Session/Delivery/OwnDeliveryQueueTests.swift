import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

@Suite struct OwnDeliveryQueueTests {
  @Test func keepsTheOrderAndIsTheCurrentQueue() async throws {
    let own = OwnDeliveryQueue()
    let lane = DeliveryLane(to: own, isAlone: true)
    let seen = Recorder<Int>()
    for number in 0..<1000 {
      lane.append {
        #expect(OperationQueue.current === own.operations)
        seen.record(number)
      }
    }
    #expect(try await seen.first(1000) == Array(0..<1000))
  }

  /// Events that are appended by events, and from many threads at a time.
  @Test func losesNothingThatManyThreadsAppend() async throws {
    let own = OwnDeliveryQueue()
    let lane = DeliveryLane(to: own, isAlone: true)
    let seen = Recorder<Int>()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for number in 0..<250 {
        lane.append { lane.append { seen.record(thread * 250 + number) } }
      }
    }
    #expect(try await seen.first(2000).sorted() == Array(0..<2000))
  }

  @Test func theAppsOperationsTakeTurns() async throws {
    let own = OwnDeliveryQueue()
    let lane = DeliveryLane(to: own, isAlone: true)
    let seen = Recorder<Int>()
    lane.append {
      own.operations.addOperation { seen.record(1) }
      lane.append { seen.record(2) }
      seen.record(0)
    }
    #expect(try await seen.first(3) == [0, 1, 2])
  }

  @Test func aSuspendedQueueHoldsEvents() async throws {
    let own = OwnDeliveryQueue()
    let lane = DeliveryLane(to: own, isAlone: true)
    let seen = Recorder<Int>()
    own.operations.isSuspended = true
    lane.append { seen.record(1) }
    own.operations.addOperation { seen.record(2) }
    #expect(own.operations.operationCount == 2)
    own.operations.isSuspended = false
    #expect(try await seen.first(2) == [1, 2])
  }

  @Test func waitingForAllOperationsWaitsForEvents() async throws {
    let own = OwnDeliveryQueue()
    let lane = DeliveryLane(to: own, isAlone: true)
    let seen = Recorder<Int>()
    for number in 0..<10 { lane.append { seen.record(number) } }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        own.operations.waitUntilAllOperationsAreFinished()
        seen.record(-1)
        continuation.resume()
      }
    }
    #expect(try await seen.first(11) == Array(0..<10) + [-1])
  }

  /// As Foundation has it: an operation queue is serial where its dispatch queue is.
  @Test func staysSerial() async throws {
    let own = OwnDeliveryQueue()
    own.operations.maxConcurrentOperationCount = 4
    let running = Recorder<Int>()
    for number in 0..<50 {
      own.operations.addOperation {
        running.record(number)
        running.record(-number)
      }
    }
    #expect(try await running.first(100) == (0..<50).flatMap { [$0, -$0] })
  }

  @Test func aSessionWithoutAQueueHasOne() {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    #expect(session.delegateQueue.name == "URLSession delegate queue")
    #expect(session.delegateQueue.underlyingQueue != nil)
    let queue = OperationQueue()
    let other = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    defer { other.invalidateAndCancel() }
    #expect(other.delegateQueue === queue)
    #expect(queue.underlyingQueue == nil)
  }
}
