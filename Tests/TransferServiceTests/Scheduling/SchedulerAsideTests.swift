import Foundation
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

/// Running transfers that keep no other app's from running: those that wait for their app, and those that may not be stopped.
@Suite struct SchedulerAsideTests {
  private let clock = FakeClock()

  private func decide(_ scheduler: inout Scheduler) -> Scheduler.Decision {
    scheduler.decide(now: clock.now, date: clock.date)
  }

  /// Each is of a session of its own.
  private func add(
    _ id: TransferID, app: AppID, host: String = "h", priority: Float = 0.5, to scheduler: inout Scheduler
  ) {
    scheduler.add(
      .init(id: id, app: app, session: SessionID(id), host: host, priority: priority, since: clock.now))
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// What the transfer is that has the only place, for so many seconds.
    var seconds: TimeInterval = 80
    var rate: Int64 = 1 << 20
    var isRepeatable = true
    var isParked = false
    /// It was parked, and is no more.
    var wasParked = false
    var hasArrived = false
    /// Whether one of another app starts, and whether one of its own app does when that has ended.
    let startsOther: Bool
    var startsOwn = false
  }

  /// After 100 seconds a transfer has run for long.
  static let rows: [Row] = [
    Row(testDescription: "it runs", startsOther: false),
    Row(testDescription: "it waits for its app", isParked: true, startsOther: true),
    Row(testDescription: "its app has answered", wasParked: true, startsOther: false),
    Row(
      testDescription: "it has all its bytes, and waits for its app", isParked: true, hasArrived: true,
      startsOther: true, startsOwn: true),
    Row(testDescription: "it has all its bytes", hasArrived: true, startsOther: true, startsOwn: true),
    Row(testDescription: "it is slow", rate: 0, startsOther: false),
    Row(testDescription: "it has run for long", seconds: 120, startsOther: false),
    Row(testDescription: "it may not be stopped", isRepeatable: false, startsOther: false),
    Row(testDescription: "it may not be stopped, and is slow", rate: 0, isRepeatable: false, startsOther: true),
    Row(
      testDescription: "it may not be stopped, and has run for long", seconds: 120, isRepeatable: false,
      startsOther: true),
  ]

  @Test(arguments: rows, ["h", "other"])
  func aTransferThatIsAsideKeepsNoOtherAppFromItsServer(_ row: Row, host: String) {
    var limits = Scheduler.Limits(total: 9, perHost: 1)
    limits.longSlice = 100
    var scheduler = Scheduler(limits: limits)
    // Both names lead to one address.
    for (id, host): (TransferID, String) in [(8, "other"), (1, "h")] {
      add(id, app: 1, host: host, to: &scheduler)
      #expect(decide(&scheduler).start == [id])
      scheduler.connected(id, to: "::1", at: clock.now)
      if id == 8 { scheduler.remove(8) }
    }
    scheduler.setRepeatable(row.isRepeatable, 1)
    scheduler.setParked(row.isParked || row.wasParked, 1, at: clock.now)
    if row.hasArrived { scheduler.setArrived(1) }
    if row.wasParked { scheduler.setParked(false, 1, at: clock.now) }
    add(2, app: 2, host: host, to: &scheduler)
    add(3, app: 1, host: host, to: &scheduler)
    var started: [TransferID] = []
    for _ in 1...Int(row.seconds / 10) {
      clock.advance(by: 10)
      for id in scheduler.running.keys {
        scheduler.moved(id == 1 ? row.rate * 10 : 1 << 20, loss: 0, of: id, at: clock.now)
      }
      started += decide(&scheduler).start
    }
    #expect(started == (row.startsOther ? [2] : []))
    scheduler.remove(2)
    #expect(decide(&scheduler).start == (row.startsOwn ? [3] : []))
    #expect(row.startsOwn || scheduler.waitingReason(of: 3)?.code == "hostBusy")
  }

  /// Six of an app at a host, so that it opens no more connections by leaving questions unanswered.
  @Test func anAppHasNoMoreAtAHostThanTheHostHasPlaces() {
    var scheduler = Scheduler(limits: .init(total: 24, perHost: 2))
    for app: AppID in 1...3 {
      for id in 1...9 { add(app * 10 + TransferID(id), app: app, to: &scheduler) }
    }
    var started: [TransferID] = []
    for _ in 1...9 {
      let new = decide(&scheduler).start
      for id in new { scheduler.setParked(true, id, at: clock.now) }
      started += new
    }
    #expect(started == [11, 21, 31, 12, 22, 32])
    scheduler.remove(11)
    #expect(decide(&scheduler).start == [13])
    // All are answered at once: those of the host wait until there are fewer.
    for id: TransferID in [21, 31, 12, 22, 32] { scheduler.setParked(false, id, at: clock.now) }
    for id: TransferID in [21, 22, 31, 32] {
      #expect(decide(&scheduler).start == [])
      scheduler.remove(id)
    }
    scheduler.remove(12)
    #expect(decide(&scheduler).start == [23])
  }

  /// It could not use their places.
  @Test func noOtherAppGivesWayToOneThatHasAllThatOneMayHaveAtAHost() {
    var scheduler = Scheduler(limits: .init(total: 24, perHost: 1))
    add(1, app: 1, to: &scheduler)
    #expect(decide(&scheduler).start == [1])
    scheduler.setParked(true, 1, at: clock.now)
    add(2, app: 2, to: &scheduler)
    #expect(decide(&scheduler).start == [2])
    add(3, app: 1, priority: 1, to: &scheduler)
    clock.advance(by: 100)
    scheduler.moved(1 << 20, loss: 0, of: 2, at: clock.now)
    #expect(decide(&scheduler) == .init(wakeAfter: 15))
    // With its answer it is in the way itself, and gives way to the higher priority.
    scheduler.remove(2)
    scheduler.setParked(false, 1, at: clock.now)
    #expect(decide(&scheduler).stop == [1])
  }

  /// It had sent more by then than was known.
  @Test func anotherOneGivesWayForOneThatCanNotBeStoppedAnyMore() {
    var scheduler = Scheduler(limits: .init(total: 2))
    for id: TransferID in 1...2 { add(id, app: 1, to: &scheduler) }
    #expect(decide(&scheduler).start == [1, 2])
    add(3, app: 2, to: &scheduler)
    clock.advance(by: 60)
    for id: TransferID in 1...2 { scheduler.moved(1 << 20, loss: 0, of: id, at: clock.now) }
    #expect(decide(&scheduler).stop == [1])
    scheduler.setRepeatable(false, 1)
    #expect(decide(&scheduler).stop == [2])
  }

  /// Its connection leads there still.
  @Test func theAddressOfAHostIsKnownWhileATransferOfItWaitsForItsApp() {
    var scheduler = Scheduler(limits: .init(total: 24, perHost: 1))
    for (id, host): (TransferID, String) in [(1, "a"), (2, "b")] {
      add(id, app: AppID(id), host: host, to: &scheduler)
      #expect(decide(&scheduler).start == [id])
      scheduler.connected(id, to: "::1", at: clock.now)
    }
    scheduler.setParked(true, 1, at: clock.now)
    add(3, app: 3, host: "a", to: &scheduler)
    clock.advance(by: HostAddresses.lifetime + 1)
    scheduler.moved(1 << 30, loss: 0, of: 2, at: clock.now)
    #expect(decide(&scheduler).start == [])
    #expect(scheduler.waitingReason(of: 3) == .hostBusy(host: "::1", limit: 1))
  }
}
