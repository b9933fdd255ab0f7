import Dispatch
import Glibc
import HTTPTransport
import LoopbackServer
import NIOCore
import Synchronization
import Testing

/// An event loop without a thread: who runs what, one thing at a time, before it moves and after.
@Suite struct InlineEventLoopTests {
  private let host = LoopExecutor.all[0].loop

  @Test func theCallersThreadRunsWhatItGives() {
    let loop = InlineEventLoop(host: host)
    let order = Recorder<String>()
    #expect(!loop.inEventLoop)
    loop.execute {
      #expect(loop.inEventLoop && !self.host.inEventLoop)
      loop.execute { order.record("within") }
      order.record("first")
    }
    #expect(order.all == ["first", "within"])
    #expect(!loop.inEventLoop)
  }

  private final class Counts: Sendable {
    let running = Atomic<Int>(0)
    let most = Atomic<Int>(0)
    let all = Atomic<Int>(0)
  }

  @Test func oneThingRunsAtATime() async {
    let loop = InlineEventLoop(host: host)
    let counts = Counts()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1_000 {
            loop.execute {
              counts.most.max(counts.running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
              counts.all.add(1, ordering: .relaxed)
              counts.running.subtract(1, ordering: .relaxed)
            }
          }
        }
      }
    }
    // What the last caller gave may still run on another's thread.
    let end = Gate()
    loop.execute { end.open() }
    try? await end.wait(within: patience)
    #expect(counts.most.load(ordering: .relaxed) == 1 && counts.all.load(ordering: .relaxed) == 8_000)
  }

  /// A task may take long: some call observers of the app.
  @Test func aTaskThatTakesLongHoldsNoOtherLoopUp() async throws {
    let (holds, goesOn, end) = (Gate(), Gate(), DispatchSemaphore(value: 0))
    /// Behind the tasks that the caller's thread runs.
    func give(_ last: @escaping @Sendable () -> Void) {
      let loop = InlineEventLoop(host: host)
      loop.execute {
        for _ in 0..<100 { loop.execute {} }
        loop.execute(last)
      }
    }
    defer { end.signal() }
    give {
      holds.open()
      end.wait()
    }
    try await holds.wait(within: patience)
    give { goesOn.open() }
    try await goesOn.wait(within: patience)
  }

  @Test func afterAMoveEverythingRunsOnTheHostInOrder() async throws {
    for _ in 0..<200 {
      let loop = InlineEventLoop(host: host)
      let order = Recorder<Int>()
      let end = Gate()
      loop.execute {
        loop.execute { order.record(1) }
        loop.move {
          #expect(loop.inEventLoop && self.host.inEventLoop)
          order.record(2)
        }
        // The task that moves goes on where it is.
        #expect(loop.inEventLoop && !self.host.inEventLoop)
        order.record(0)
      }
      loop.execute {
        #expect(loop.inEventLoop && self.host.inEventLoop)
        order.record(3)
        end.open()
      }
      try await end.wait(within: patience)
      // The move comes before what waits, so that nothing runs in between.
      #expect(order.all == [0, 2, 1, 3])
      #expect(!loop.inEventLoop)
    }
  }

  /// Threads that give tasks while the loop moves: none is lost, and those of one thread keep their order.
  @Test func aMoveLosesNothingThatOtherThreadsGive() async throws {
    for _ in 0..<50 {
      let loop = InlineEventLoop(host: host)
      let numbers = (0..<4).map { _ in Recorder<Int>() }
      let ends = (0..<4).map { _ in Gate() }
      await withTaskGroup(of: Void.self) { group in
        for thread in 0..<4 {
          group.addTask {
            for number in 0..<100 {
              loop.execute {
                loop.assertInEventLoop()
                numbers[thread].record(number)
                if thread == 0, number == 50 { loop.move {} }
              }
            }
            loop.execute { ends[thread].open() }
          }
        }
      }
      for end in ends { try await end.wait(within: patience) }
      for numbers in numbers { #expect(numbers.all == Array(0..<100)) }
    }
  }

  @Test func aSecondMoveIsNotLost() async throws {
    let loop = InlineEventLoop(host: host)
    let order = Recorder<Int>()
    loop.execute {
      loop.move { order.record(1) }
      loop.move {
        order.record(2)
        loop.move { order.record(3) }
      }
    }
    #expect(try await order.first(3) == [1, 2, 3])
  }

  /// A caller whose task is followed by those of others runs a number of them at most.
  @Test func aCallerIsNotKeptForLong() async throws {
    let loop = InlineEventLoop(host: host)
    let within = Recorder<Bool>()
    let counts = Counts()
    let caller = UInt(pthread_self())
    counts.running.store(1, ordering: .relaxed)
    loop.execute {
      for _ in 0..<200 {
        loop.execute {
          within.record(UInt(pthread_self()) == caller && counts.running.load(ordering: .relaxed) == 1)
        }
      }
    }
    counts.running.store(0, ordering: .relaxed)
    let own = try await within.first(200).filter { $0 }.count
    #expect((1..<100).contains(own))
  }

  @Test func timersRunOnTheLoop() async throws {
    let loop = InlineEventLoop(host: host)
    let isOnLoop = try await loop.scheduleTask(in: .milliseconds(1)) { loop.inEventLoop }.futureResult.get()
    #expect(isOnLoop)
    let cancelled = loop.scheduleTask(in: .hours(1)) { 1 }
    cancelled.cancel()
    await #expect(throws: EventLoopError.self) { _ = try await cancelled.futureResult.get() }
  }
}
