import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Calls on run loops, each in a thread of the test's own.
@Suite struct ScheduledDeliveryTests {
  /// Runs a run loop in `mode` on a new thread, until nothing is scheduled there, after `begin`.
  private func runLoop(
    in mode: RunLoop.Mode = .default, _ begin: @escaping @Sendable () -> Void
  ) -> Gate {
    let isOver = Gate()
    Thread.detachNewThread {
      begin()
      while RunLoop.current.run(mode: mode, before: .distantFuture) {}
      isOver.open()
    }
    return isOver
  }

  @Test func aLaneKeepsItsOrderAndTheRunLoopWaitsForIt() async throws {
    let delivery = ScheduledDelivery()
    let lane = DeliveryLane(to: delivery)
    let seen = Recorder<Int>()
    let isScheduled = Gate()
    let isOver = runLoop {
      delivery.schedule(in: .current, forMode: .default)
      isScheduled.open()
    }
    try await isScheduled.wait(within: patience)
    for number in 0..<1000 { lane.append { seen.record(number) } }
    #expect(try await seen.first(1000) == Array(0..<1000))
    #expect(!isOver.isOpen)
    delivery.close()
    try await isOver.wait(within: patience)
  }

  /// A call is made once, by the first of two threads.
  @Test func twoRunLoopsMakeEachCallOnce() async throws {
    let delivery = ScheduledDelivery()
    let lane = DeliveryLane(to: delivery)
    let seen = Recorder<Int>()
    let ready = [Gate(), Gate()]
    let over = ready.map { gate in
      runLoop {
        delivery.schedule(in: .current, forMode: .default)
        // The same again changes nothing.
        delivery.schedule(in: .current, forMode: .default)
        gate.open()
      }
    }
    for gate in ready { try await gate.wait(within: patience) }
    for number in 0..<1000 { lane.append { seen.record(number) } }
    #expect(try await seen.first(1000) == Array(0..<1000))
    delivery.close()
    for gate in over { try await gate.wait(within: patience) }
    #expect(seen.count == 1000)
  }

  /// What waits for a place runs at the next one, and after the end on no particular thread.
  @Test func callsWaitForAPlace() async throws {
    let delivery = ScheduledDelivery()
    let lane = DeliveryLane(to: delivery)
    let seen = Recorder<Int>()
    #expect(!delivery.isScheduled)
    lane.append { seen.record(1) }
    let isOver = runLoop(in: RunLoop.Mode("org.example.own")) {
      delivery.schedule(in: .current, forMode: RunLoop.Mode("org.example.own"))
    }
    #expect(try await seen.next() == 1)
    delivery.close()
    try await isOver.wait(within: patience)
    lane.append { seen.record(2) }
    #expect(try await seen.next() == 2)

    let other = ScheduledDelivery()
    DeliveryLane(to: other).append { seen.record(3) }
    other.close()
    #expect(try await seen.next() == 3)
  }

  @Test func aQueueTakesThePlaceOfRunLoops() async throws {
    let delivery = ScheduledDelivery()
    let lane = DeliveryLane(to: delivery)
    let queue = serialQueue()
    let seen = Recorder<Bool>()
    let isOver = runLoop {
      delivery.schedule(in: .current, forMode: .default)
      delivery.use(queue)
    }
    try await isOver.wait(within: patience)
    lane.append { seen.record(OperationQueue.current === queue) }
    #expect(try await seen.next())
    delivery.use(nil)
    #expect(!delivery.isScheduled)
  }

  /// What a mode that never runs is given does not gather there.
  @Test func aModeThatNeverRunsHasOneCall() async throws {
    let delivery = ScheduledDelivery()
    let lane = DeliveryLane(to: delivery)
    let never = RunLoop.Mode("org.example.never")
    let inputs = Recorder<RunLoopInput>()
    let seen = Recorder<Int>()
    let isOver = runLoop {
      delivery.schedule(in: .current, forMode: .default)
      delivery.schedule(in: .current, forMode: never)
      inputs.record(RunLoopInput.of(.current, never))
    }
    let input = try await inputs.next()
    for number in 0..<100 {
      lane.append { seen.record(number) }
      #expect(try await seen.next() == number)
    }
    #expect(input.waitingCount == 1)
    delivery.close()
    try await isOver.wait(within: patience)
    #expect(input.waitingCount == 0)
  }

  @Test func aRunLoopThatWasLeftMakesNoCall() async throws {
    let (delivery, other) = (ScheduledDelivery(), ScheduledDelivery())
    let (lane, otherLane) = (DeliveryLane(to: delivery), DeliveryLane(to: other))
    let seen = Recorder<ObjectIdentifier>()
    let otherRan = Gate()
    let isOver = runLoop {
      delivery.schedule(in: .current, forMode: .default)
      other.schedule(in: .current, forMode: .default)
      lane.append { seen.record(ObjectIdentifier(Thread.current)) }
      delivery.unschedule(from: .current, forMode: .default)
      otherLane.append { otherRan.open() }
    }
    try await otherRan.wait(within: patience)
    #expect(seen.all.isEmpty)
    let threads = Recorder<ObjectIdentifier>()
    let isSecondOver = runLoop {
      threads.record(ObjectIdentifier(Thread.current))
      delivery.schedule(in: .current, forMode: .default)
    }
    let (seenThread, secondThread) = (try await seen.next(), try await threads.next())
    #expect(seenThread == secondThread)
    for ended in [delivery, other] { ended.close() }
    for gate in [isOver, isSecondOver] { try await gate.wait(within: patience) }
  }
}
