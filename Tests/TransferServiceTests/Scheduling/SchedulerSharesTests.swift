import Foundation
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

/// Which running transfers give way to others.
@Suite struct SchedulerSharesTests {
  private let clock = FakeClock()

  private func decide(_ scheduler: inout Scheduler) -> Scheduler.Decision {
    scheduler.decide(now: clock.now, date: clock.date)
  }

  private func add(
    _ ids: ClosedRange<TransferID>, app: AppID, host: String? = nil, priority: Float = 0.5, limit: Int = 6,
    to scheduler: inout Scheduler
  ) {
    for id in ids {
      scheduler.add(
        .init(
          id: id, app: app, session: app, host: host ?? "host\(id)", priority: priority, sessionLimit: limit,
          since: clock.now))
    }
  }

  /// Time passes, and the running transfers receive bytes.
  private func run(
    _ scheduler: inout Scheduler, for seconds: TimeInterval, rate: Double = 1_000_000, loss: Int64 = 0
  ) {
    var rest = seconds
    while rest > 0 {
      let step = min(rest, 10)
      clock.advance(by: step)
      rest -= step
      for id in scheduler.running.keys { scheduler.moved(Int64(rate * step), loss: loss, of: id, at: clock.now) }
    }
  }

  /// The transfers that were told to stop have stopped.
  private func stop(_ ids: [TransferID], _ scheduler: inout Scheduler) {
    for id in ids {
      guard var candidate = scheduler.entries[id]?.candidate else { continue }
      candidate.since = clock.now
      scheduler.add(candidate)
    }
  }

  @Test func anAppAloneHasAll() {
    var scheduler = Scheduler()
    add(1...30, app: 1, to: &scheduler)
    #expect(decide(&scheduler).start == Array(1...24))
    run(&scheduler, for: 600)
    #expect(decide(&scheduler).stop == [], "its own transfers wait in order")
  }

  @Test func anotherAppGetsItsShareSliceBySlice() {
    var scheduler = Scheduler(limits: .init(total: 4))
    add(1...10, app: 1, to: &scheduler)
    #expect(decide(&scheduler).start == [1, 2, 3, 4])
    run(&scheduler, for: 50)
    add(11...14, app: 2, to: &scheduler)
    #expect(decide(&scheduler).stop == [], "the slices are not over")
    run(&scheduler, for: 10)
    #expect(decide(&scheduler).stop == [1])
    #expect(decide(&scheduler).stop == [], "one at a time")
    stop([1], &scheduler)
    #expect(scheduler.waitingReason(of: 1) == .turn)
    var decision = decide(&scheduler)
    #expect(decision == .init(start: [11], stop: [2], wakeAfter: 15))
    #expect(scheduler.waitingReason(of: 1) == .gaveWay)
    stop([2], &scheduler)
    decision = decide(&scheduler)
    #expect(decision.start == [12] && decision.stop == [], "both have as many")
    run(&scheduler, for: 600)
    #expect(decide(&scheduler).stop == [])
  }

  /// What gave way goes to the end.
  @Test func moreAppsThanPlacesTakeTurns() {
    var scheduler = Scheduler(limits: .init(total: 2))
    for app in 1...5 { add(TransferID(app)...TransferID(app), app: AppID(app), to: &scheduler) }
    var starts: [TransferID: Int] = [:]
    for _ in 1...20 {
      let decision = decide(&scheduler)
      for id in decision.start { starts[id, default: 0] += 1 }
      stop(decision.stop, &scheduler)
      for id in decide(&scheduler).start { starts[id, default: 0] += 1 }
      run(&scheduler, for: 60)
    }
    #expect(starts.count == 5 && (starts.values.min() ?? 0) + 2 >= starts.values.max() ?? 0, "\(starts)")
  }

  @Test func aTransferThatWouldLoseItsBytesGoesOn() {
    var scheduler = Scheduler(limits: .init(total: 2))
    add(1...2, app: 1, to: &scheduler)
    #expect(decide(&scheduler).start == [1, 2])
    add(3...4, app: 2, to: &scheduler)
    run(&scheduler, for: 59, loss: 1 << 20)
    #expect(decide(&scheduler).stop == [])
    run(&scheduler, for: 1, loss: 1 << 20)
    #expect(decide(&scheduler).stop == [1], "the other app has none that runs")
    stop([1], &scheduler)
    #expect(decide(&scheduler).start == [3])
    run(&scheduler, for: 3_600, loss: 1 << 20)
    #expect(decide(&scheduler).stop == [], "each has one")
  }

  @Test func eachLossDoublesTheTimeThatATransferIsLeftAlone() {
    var scheduler = Scheduler(limits: .init(total: 1))
    add(1...1, app: 1, to: &scheduler)
    _ = decide(&scheduler)
    for slice in [60.0, 120, 240] {
      add(2...2, app: 2, to: &scheduler)
      run(&scheduler, for: slice - 1, loss: 1 << 20)
      #expect(decide(&scheduler).stop == [], "\(slice)")
      run(&scheduler, for: 1, loss: 1 << 20)
      #expect(decide(&scheduler).stop == [1])
      stop([1], &scheduler)
      #expect(decide(&scheduler).start == [2])
      scheduler.remove(2)
      #expect(decide(&scheduler).start == [1])
    }
  }

  /// Four servers that send 200 bytes a second hold all places.
  @Test func slowServersKeepNoOtherAppFromRunning() {
    var scheduler = Scheduler()
    for host: TransferID in 0...3 { add(host * 6 + 1...host * 6 + 6, app: 1, host: "slow\(host)", to: &scheduler) }
    #expect(decide(&scheduler).start.count == 24)
    run(&scheduler, for: 3_600, rate: 200, loss: 1 << 30)
    add(101...124, app: 2, to: &scheduler)
    var started: [TransferID] = []
    for _ in 1...30 {
      let decision = decide(&scheduler)
      started += decision.start
      stop(decision.stop, &scheduler)
    }
    #expect(started == Array(101...120), "without a wait")
    #expect(scheduler.slowCount == 4)
    let waiting = (1...24).filter { !scheduler.isRunning($0) }
    #expect(waiting.count == 20)
    #expect(waiting.allSatisfy { scheduler.waitingReason(of: $0) == .slow(limit: 4) })
    #expect(waiting.allSatisfy { scheduler.remainingDelay(of: $0, now: clock.now, date: clock.date) == 60 })

    // They run again when there is room, and are slow no longer when their servers are not.
    for id: TransferID in 101...124 { scheduler.remove(id) }
    run(&scheduler, for: 60, rate: 200)
    #expect(decide(&scheduler).start.count == 20)
    run(&scheduler, for: 70)
    _ = decide(&scheduler)
    #expect(scheduler.slowCount == 0)
  }

  struct HeldBackCase: Sendable, CustomStringConvertible {
    let description: String
    /// Bytes a second, as they arrive in the end.
    let rate: Double
    /// The part of the time for which the service holds them back.
    let heldBack: Double
    let isSlow: Bool

    init(_ description: String, rate: Double, heldBack: Double, isSlow: Bool) {
      (self.description, self.rate, self.heldBack, self.isSlow) = (description, rate, heldBack, isSlow)
    }
  }

  /// All together may have 20 KB a second.
  @Test(arguments: [
    HeldBackCase("a limit leaves each transfer little", rate: 850, heldBack: 0.95, isSlow: false),
    HeldBackCase("a limit holds them back all the time", rate: 0, heldBack: 1, isSlow: false),
    HeldBackCase("the server is slow, and no limit holds", rate: 500, heldBack: 0, isSlow: true),
    HeldBackCase("the server is slow beside a limit", rate: 200, heldBack: 0.5, isSlow: true),
    HeldBackCase("the server sends nothing beside a limit", rate: 0, heldBack: 0.9, isSlow: true),
    HeldBackCase("the server sends as much as a limit lets through", rate: 600, heldBack: 0.5, isSlow: false),
  ]) func aLimitMakesNoTransferSlow(_ held: HeldBackCase) {
    var scheduler = Scheduler()
    add(1...30, app: 1, to: &scheduler)
    #expect(decide(&scheduler).start.count == 24)
    let began = clock.now
    var stopped: [TransferID] = []
    for _ in 1...40 {
      clock.advance(by: 10)
      for id in scheduler.running.keys {
        scheduler.heldBack(for: (clock.now - began) * held.heldBack, id)
        scheduler.moved(Int64(held.rate * 10), loss: 0, of: id, at: clock.now)
      }
      stopped += decide(&scheduler).stop
    }
    #expect(scheduler.slowCount == (held.isSlow ? 24 : 0))
    #expect(stopped.isEmpty == !held.isSlow)
  }

  @Test func slowTransfersTakeTurnsInTheirReserve() {
    var limits = Scheduler.Limits(total: 3)
    limits.slow = 1
    var scheduler = Scheduler(limits: limits)
    add(1...3, app: 1, to: &scheduler)
    _ = decide(&scheduler)
    run(&scheduler, for: 60, rate: 10)
    // Transfers of another app follow one another for an hour.
    var (ran, next): (Set<TransferID>, TransferID) = ([], 100)
    for _ in 1...60 {
      for id in scheduler.running.keys where id >= 100 { scheduler.remove(id) }
      add(next...next + 3, app: 2, to: &scheduler)
      next += 4
      for _ in 1...4 { stop(decide(&scheduler).stop, &scheduler) }
      _ = decide(&scheduler)
      let slow = scheduler.running.keys.filter { $0 < 100 }
      #expect(slow.count <= 1 && scheduler.runningCount == 3)
      ran.formUnion(slow)
      clock.advance(by: 60)
      for id in scheduler.running.keys { scheduler.moved(id < 100 ? 600 : 1 << 20, loss: 0, of: id, at: clock.now) }
    }
    #expect(ran == [1, 2, 3])
  }

  /// A full host matters, not how much an app runs elsewhere.
  @Test func theSharesOfAHostAreItsOwn() {
    var scheduler = Scheduler()
    add(1...6, app: 1, host: "h", to: &scheduler)
    add(11...20, app: 2, to: &scheduler)
    #expect(decide(&scheduler).start.count == 16)
    add(21...21, app: 2, host: "h", to: &scheduler)
    #expect(decide(&scheduler).stop == [])
    #expect(scheduler.waitingReason(of: 21) == .hostBusy(host: "h", limit: 6))
    run(&scheduler, for: 60)
    #expect(decide(&scheduler).stop == [1])
  }

  @Test func aHigherPriorityOfTheSameAppRunsAfterASlice() {
    var scheduler = Scheduler(limits: .init(total: 2))
    add(1...2, app: 1, priority: 0.25, to: &scheduler)
    _ = decide(&scheduler)
    run(&scheduler, for: 59)
    add(3...3, app: 1, priority: 0.75, to: &scheduler)
    #expect(decide(&scheduler).stop == [])
    run(&scheduler, for: 1)
    #expect(decide(&scheduler).stop == [1])
    stop([1], &scheduler)
    #expect(decide(&scheduler) == .init(start: [3], wakeAfter: 15))
    run(&scheduler, for: 3_540)
    #expect(decide(&scheduler).stop == [2], "it has run for an hour")
  }

  /// Transfers of a high priority come without end.
  @Test func aLowPriorityRunsInTime() {
    var scheduler = Scheduler(limits: .init(total: 1))
    add(1...1, app: 1, priority: 1, to: &scheduler)
    _ = decide(&scheduler)
    add(2...2, app: 1, priority: 0, to: &scheduler)
    var (last, minutes): (TransferID, Int) = (1, 0)
    while !scheduler.isRunning(2), minutes < 600 {
      add(last + 2...last + 2, app: 1, priority: 1, to: &scheduler)
      scheduler.remove(last)
      last += 2
      _ = decide(&scheduler)
      run(&scheduler, for: 60)
      minutes += 1
    }
    #expect((230...250).contains(minutes), "\(minutes)")
  }

  @Test func aRequestThatMayNotBeRepeatedIsNotStopped() {
    var scheduler = Scheduler(limits: .init(total: 2))
    add(1...2, app: 1, to: &scheduler)
    _ = decide(&scheduler)
    scheduler.setRepeatable(false, 1)
    run(&scheduler, for: 3_000)
    add(3...4, app: 2, to: &scheduler)
    #expect(decide(&scheduler).stop == [2])
    stop([2], &scheduler)
    #expect(decide(&scheduler) == .init(start: [3], wakeAfter: 15))
    // A slow one goes on beside the others.
    var started: [TransferID] = []
    for _ in 1...4 {
      clock.advance(by: 30)
      scheduler.moved(1 << 20, loss: 0, of: 3, at: clock.now)
      started += decide(&scheduler).start
    }
    #expect(started == [2])
    #expect(scheduler.isRunning(1) && scheduler.runningCount == 3)
  }

  /// The disk may take long for it.
  @Test func oneOfWhichAllBytesHaveArrivedLeavesItsPlaceOfTheHost() {
    var scheduler = Scheduler(limits: .init(total: 3, perHost: 1))
    add(1...4, app: 1, host: "h", to: &scheduler)
    #expect(decide(&scheduler).start == [1])
    scheduler.setArrived(1)
    scheduler.setArrived(1)
    #expect(decide(&scheduler).start == [2])
    #expect(decide(&scheduler).start == [], "two of a host would need its server")
    scheduler.setArrived(2)
    #expect(decide(&scheduler).start == [3])
    scheduler.setArrived(3)
    #expect(decide(&scheduler).start == [], "the service has no more places")
    scheduler.remove(1)
    #expect(decide(&scheduler).start == [4])
    for id: TransferID in [2, 3] { scheduler.remove(id) }
    add(5...6, app: 1, host: "h", to: &scheduler)
    #expect(decide(&scheduler).start == [], "the fourth still needs the server")
    scheduler.remove(4)
    #expect(decide(&scheduler).start == [5])
  }

  // MARK: After a crash

  @Test func suspectsRunOneByOneBeforeOthers() {
    var scheduler = Scheduler()
    for id: TransferID in 1...4 {
      scheduler.add(.init(id: id, app: 1, session: 1, host: "h", since: clock.now, isSuspect: id > 1))
    }
    #expect(decide(&scheduler) == .init(start: [2], wakeAfter: 10))
    #expect(scheduler.waitingReason(of: 1) == .trial && scheduler.waitingReason(of: 3) == .trial)
    clock.advance(by: 4)
    #expect(decide(&scheduler) == .init(wakeAfter: 6))
    // It has made progress.
    scheduler.beginAcquittal(of: 2)
    #expect(decide(&scheduler).start == [], "a crash now would be counted to it")
    #expect(scheduler.waitingReason(of: 3) == .trial)
    scheduler.remove(2)
    #expect(decide(&scheduler).start == [], "its end changes nothing of that")
    scheduler.endAcquittal(of: 2)
    #expect(decide(&scheduler).start == [3])
    clock.advance(by: 10)
    #expect(decide(&scheduler).start == [4], "it has run for long enough")
    scheduler.remove(4)
    #expect(decide(&scheduler).start == [1], "it has ended")
  }

  @Test func aSuspectThatWaitsForItsRetryHoldsNoOtherBack() {
    var scheduler = Scheduler()
    let delay = Scheduler.Delay(until: .instant(clock.now + 100), reason: .retry(because: "", failures: 1))
    scheduler.add(.init(id: 1, app: 1, session: 1, host: "h", delay: delay, since: clock.now, isSuspect: true))
    add(2...3, app: 1, to: &scheduler)
    #expect(decide(&scheduler).start == [2, 3])
    clock.advance(by: 100)
    #expect(decide(&scheduler).start == [1])
    add(4...4, app: 1, to: &scheduler)
    #expect(decide(&scheduler).start == [])
    clock.advance(by: 10)
    #expect(decide(&scheduler).start == [4])
  }
}
