import LoopbackServer
import NIOCore
import Synchronization
import Testing

@testable import HTTPTransport

/// Deadlines that any thread may add: none is missed, and each is asked on the sweeper's loop.
@Suite struct DeadlineSweeperTests {
  private let executor = LoopExecutor.all[0]

  @Test func anEarlierDeadlineIsNotMissedForALaterOne() async throws {
    let sweeper = executor.sweeper
    for _ in 0..<50 {
      let due = Gate()
      let now = NIODeadline.now()
      let ids = Recorder<DeadlineSweeper.ID>()
      await withTaskGroup(of: Void.self) { group in
        for later in [TimeAmount.milliseconds(1), .hours(1), .minutes(1), .hours(2)] {
          group.addTask {
            let id = sweeper.add(deadline: now + later) { [executor] _ in
              #expect(executor.loop.inEventLoop)
              due.open()
              return nil
            }
            ids.record(id)
          }
        }
      }
      try await due.wait(within: patience)
      for id in ids.all { sweeper.remove(id) }
    }
  }

  @Test func anEntryIsAskedAgainWhenItSays() async throws {
    let sweeper = executor.sweeper
    let count = Atomic<Int>(0)
    let third = Gate()
    let id = sweeper.add(deadline: .now()) { now in
      if count.add(1, ordering: .relaxed).newValue == 3 { third.open() }
      return now + .milliseconds(1)
    }
    try await third.wait(within: patience)
    sweeper.remove(id)
  }

  /// The next entry has the place of the removed one, and not its ID.
  @Test func anEntryIsNotRemovedByTheIDOfAnEarlierOne() async throws {
    let sweeper = LoopExecutor(loop: executor.loop).sweeper
    let asked = Gate()
    let earlier = sweeper.add(deadline: .now() + .hours(1)) { _ in nil }
    sweeper.remove(earlier)
    let later = sweeper.add(deadline: .now() + .milliseconds(1)) { _ in
      asked.open()
      return nil
    }
    #expect(later != earlier)
    sweeper.remove(earlier)
    try await asked.wait(within: patience)
    sweeper.remove(later)
  }

  @Test func aRemovedEntryIsNotAsked() async throws {
    let sweeper = executor.sweeper
    let end = Gate()
    let deadline = NIODeadline.now() + .milliseconds(20)
    let removed = sweeper.add(deadline: deadline) { _ in
      Issue.record("asked after it was removed")
      return nil
    }
    sweeper.remove(removed)
    let last = sweeper.add(deadline: deadline + .milliseconds(1)) { _ in
      end.open()
      return nil
    }
    try await end.wait(within: patience)
    sweeper.remove(last)
  }

  /// After a program has had very many loads at a time.
  @Test func theMemoryOfRemovedEntriesIsGivenBackByTheNextSweep() async throws {
    let sweeper = LoopExecutor(loop: executor.loop).sweeper
    let ids = (0..<10_000).map { _ in sweeper.add(deadline: .now() + .hours(1)) { _ in nil } }
    for id in ids { sweeper.remove(id) }
    #expect(sweeper.room == 10_000)
    let last = sweeper.add(deadline: .now() + .milliseconds(1)) { _ in nil }
    try await eventually("the sweep") { sweeper.room < 1_000 }
    sweeper.remove(last)
  }
}
