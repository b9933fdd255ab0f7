import Foundation
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

@Suite struct SchedulerTests {
  private let clock = FakeClock()

  private func start(_ scheduler: inout Scheduler) -> [TransferID] {
    scheduler.decide(now: clock.now, date: clock.date).start
  }

  private func candidate(
    _ id: TransferID, app: AppID = 1, session: SessionID = 1, host: String = "a", priority: Float = 0.5,
    sessionLimit: Int = 6, delay: Scheduler.Delay? = nil
  ) -> Scheduler.Candidate {
    .init(
      id: id, app: app, session: session, host: host, priority: priority, sessionLimit: sessionLimit, delay: delay)
  }

  struct Row: Sendable {
    let name: String
    let limits: Scheduler.Limits
    let candidates: [Scheduler.Candidate]
    let starts: [TransferID]
    /// Which is asked why it waits, and what it says.
    var waits: (TransferID, WaitingReason)?
  }

  static let rows: [Row] = [
    Row(
      name: "older first", limits: .init(),
      candidates: [
        .init(id: 2, app: 1, session: 1, host: "a"),
        .init(id: 1, app: 1, session: 1, host: "a"),
      ], starts: [1, 2]),
    Row(
      name: "higher priority first", limits: .init(total: 2),
      candidates: [
        .init(id: 1, app: 1, session: 1, host: "a", priority: 0.2),
        .init(id: 2, app: 1, session: 1, host: "b", priority: 0.9),
        .init(id: 3, app: 1, session: 1, host: "a", priority: 0.5),
      ],
      starts: [2, 3], waits: (1, .serviceBusy(limit: 2))),
    Row(
      name: "no more than the host allows", limits: .init(total: 9, perHost: 2),
      candidates: (1...4).map {
        .init(id: $0, app: $0, session: $0, host: $0 < 4 ? "a" : "b")
      },
      starts: [1, 2, 4], waits: (3, .hostBusy(host: "a", limit: 2))),
    Row(
      name: "no more than the session allows", limits: .init(),
      candidates: [
        .init(id: 1, app: 1, session: 1, host: "a", sessionLimit: 1),
        .init(id: 2, app: 1, session: 1, host: "a", sessionLimit: 1),
        .init(id: 3, app: 1, session: 2, host: "a", sessionLimit: 1),
        .init(id: 4, app: 1, session: 1, host: "b", sessionLimit: 1),
      ],
      starts: [1, 3, 4], waits: (2, .sessionBusy(limit: 1))),
    Row(
      name: "apps take turns", limits: .init(total: 4),
      candidates: (1...5).map { .init(id: $0, app: 1, session: 1, host: "a") }
        + (6...9).map { .init(id: $0, app: 2, session: 2, host: "b") }, starts: [1, 6, 2, 7]),
    Row(
      name: "a limit of zero is taken for one", limits: .init(),
      candidates: [
        .init(id: 1, app: 1, session: 1, host: "a", sessionLimit: 0)
      ], starts: [1]),
    Row(name: "nothing", limits: .init(), candidates: [], starts: []),
  ]

  @Test func aParkedTransferKeepsNoOtherAppFromRunning() {
    var scheduler = Scheduler(limits: .init(total: 2))
    for id: TransferID in 1...3 { scheduler.add(candidate(id)) }
    scheduler.add(candidate(4, app: 2, session: 2, delay: .init(until: .instant(clock.now + 1), reason: .turn)))
    #expect(start(&scheduler) == [1, 2])
    clock.advance(by: 2)
    scheduler.setParked(true, 1, at: clock.now)
    scheduler.setParked(true, 3, at: clock.now)
    #expect(scheduler.isDecisionDue)
    #expect(start(&scheduler) == [4], "the app that has as many as it may gets no more")
    #expect(scheduler.waitingReason(of: 3) == .serviceBusy(limit: 2))
    scheduler.add(candidate(5, app: 3, session: 3))
    #expect(start(&scheduler) == [], "the service is full")
    // For a while there are more than the service has otherwise.
    scheduler.setParked(false, 1, at: clock.now)
    scheduler.remove(4)
    #expect(start(&scheduler) == [])
    scheduler.setParked(true, 2, at: clock.now)
    scheduler.remove(2)
    #expect(start(&scheduler) == [5], "one that has ended is parked no longer")
    #expect(start(&scheduler) == [])
  }

  @Test(arguments: rows.indices)
  func startsInOrderWithinLimits(index: Int) {
    let row = Self.rows[index]
    var scheduler = Scheduler(limits: row.limits)
    for candidate in row.candidates { scheduler.add(candidate) }
    #expect(start(&scheduler) == row.starts, "\(row.name)")
    if let (id, reason) = row.waits { #expect(scheduler.waitingReason(of: id) == reason, "\(row.name)") }
    // Asked again, it starts nothing twice.
    #expect(start(&scheduler) == [], "\(row.name)")
  }

  struct Addresses: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Those that run, by number, and where they are connected to.
    let running: [(TransferID, host: String, address: String?)]
    /// A further transfer from this host, and whether it starts.
    let host: String
    let starts: Bool
    /// These have ended before.
    var ended: [TransferID] = []
    /// All bytes of these have arrived.
    var arrived: [TransferID] = []
  }

  /// Two have a place at each host.
  static let addresses: [Addresses] = [
    Addresses(
      testDescription: "two names of one address", running: [(1, "a", "::1"), (2, "b", "::1")], host: "b", starts: false
    ),
    Addresses(
      testDescription: "another address", running: [(1, "a", "::1"), (2, "b", "::2")], host: "b", starts: true),
    Addresses(
      testDescription: "a name of which no address is known", running: [(1, "a", "::1"), (2, "b", "::1")], host: "c",
      starts: true),
    Addresses(
      testDescription: "no address is known yet", running: [(1, "a", nil), (2, "b", nil)], host: "b", starts: true),
    Addresses(
      testDescription: "the address of a run that has ended is known", running: [(1, "a", "::1"), (2, "b", "::1")],
      host: "b", starts: true, ended: [2]),
    Addresses(
      testDescription: "one that needs its server no longer", running: [(1, "a", "::1"), (2, "b", "::1")], host: "a",
      starts: true, arrived: [2]),
    Addresses(
      testDescription: "the name itself is full", running: [(1, "a", "::1"), (2, "a", "::2")], host: "a", starts: false),
  ]

  @Test(arguments: addresses.indices) func namesOfOneAddressShareItsPlaces(index: Int) {
    let row = Self.addresses[index]
    var scheduler = Scheduler(limits: .init(total: 9, perHost: 2))
    for (id, host, _) in row.running { scheduler.add(candidate(id, host: host)) }
    #expect(start(&scheduler) == row.running.map(\.0), "\(row)")
    for case (let id, _, let address?) in row.running { scheduler.connected(id, to: address, at: clock.now) }
    for id in row.arrived { scheduler.setArrived(id) }
    for id in row.ended { scheduler.remove(id) }
    scheduler.add(candidate(9, host: row.host))
    #expect(start(&scheduler) == (row.starts ? [9] : []), "\(row)")
  }

  @Test func theReasonNamesTheAddressThatIsBusy() {
    var scheduler = Scheduler(limits: .init(total: 9, perHost: 2))
    scheduler.add(candidate(1, host: "a"))
    scheduler.add(candidate(2, host: "b"))
    #expect(start(&scheduler) == [1, 2])
    for id: TransferID in [1, 2] { scheduler.connected(id, to: "::1", at: clock.now) }
    scheduler.add(candidate(3, host: "b"))
    #expect(start(&scheduler) == [])
    #expect(scheduler.waitingReason(of: 3) == .hostBusy(host: "::1", limit: 2))
    // It has moved to another machine.
    scheduler.connected(2, to: "::2", at: clock.now)
    #expect(start(&scheduler) == [3])
    scheduler.remove(3)
    scheduler.remove(2)
    scheduler.remove(1)
    for id: TransferID in 4...6 { scheduler.add(candidate(id, host: "a")) }
    #expect(start(&scheduler) == [4, 5], "each end is counted once")
  }

  /// The name may lead elsewhere by then. Only where transfers of the host run is it known that it does not.
  @Test func theAddressOfANameIsForgottenAfterAWhile() {
    var scheduler = Scheduler(limits: .init(total: 9, perHost: 2))
    for (index, host) in ["a", "a", "b"].enumerated() { scheduler.add(candidate(TransferID(index + 1), host: host)) }
    #expect(start(&scheduler) == [1, 2, 3])
    for id: TransferID in [1, 3] { scheduler.connected(id, to: "::1", at: clock.now) }
    scheduler.connected(2, to: "::1", at: clock.now)
    scheduler.remove(3)
    scheduler.add(candidate(4, host: "b"))
    clock.advance(by: HostAddresses.lifetime - 1)
    scheduler.clockMoved()
    #expect(start(&scheduler) == [])
    #expect(scheduler.waitingReason(of: 4) == .hostBusy(host: "::1", limit: 2))
    clock.advance(by: 1)
    #expect(start(&scheduler) == [4])
    scheduler.remove(2)
    scheduler.connected(4, to: "::1", at: clock.now)
    scheduler.add(candidate(5, host: "a"))
    #expect(start(&scheduler) == [], "a transfer of the host is connected there")
    #expect(scheduler.waitingReason(of: 5) == .hostBusy(host: "::1", limit: 2))
  }

  /// The next one of the name may be redirected to another machine, or to none.
  @Test func theAddressBehindARedirectIsNotThatOfTheName() {
    var scheduler = Scheduler(limits: .init(total: 9, perHost: 2))
    scheduler.add(candidate(1, host: "a"))
    scheduler.add(candidate(2, host: "b"))
    #expect(start(&scheduler) == [1, 2])
    scheduler.connected(1, to: "::1", isOfHost: false, at: clock.now)
    scheduler.connected(2, to: "::1", at: clock.now)
    scheduler.add(candidate(3, host: "a"))
    scheduler.add(candidate(4, host: "b"))
    #expect(start(&scheduler) == [3])
    #expect(scheduler.waitingReason(of: 4) == .hostBusy(host: "::1", limit: 2))
  }

  /// One of the same app from another name of the address gives way to a higher priority.
  @Test func oneFromAnotherNameOfTheAddressGivesWay() {
    var scheduler = Scheduler(limits: .init(total: 9, perHost: 2))
    scheduler.add(candidate(1, host: "a", priority: 0))
    scheduler.add(candidate(2, host: "b", priority: 0.5))
    scheduler.add(candidate(3, host: "c", priority: 0))
    #expect(start(&scheduler) == [2, 1, 3])
    for id: TransferID in [1, 2] { scheduler.connected(id, to: "::1", at: clock.now) }
    scheduler.connected(3, to: "::2", at: clock.now)
    clock.advance(by: 100)
    for id: TransferID in 1...3 { scheduler.moved(1 << 20, loss: 0, of: id, at: clock.now) }
    scheduler.add(
      .init(id: 4, app: 1, session: 1, host: "b", priority: 1, sessionLimit: 6, since: clock.now))
    let decision = scheduler.decide(now: clock.now, date: clock.date)
    #expect(decision.start == [] && decision.stop == [1])
  }

  @Test func anAppWithOneTransferOvertakesOneWithThousands() {
    var scheduler = Scheduler(limits: .init(total: 2, perHost: 6))
    for id in 1...1_000 { scheduler.add(candidate(TransferID(id))) }
    #expect(start(&scheduler) == [1, 2])
    scheduler.add(candidate(5_000, app: 2, session: 2))
    #expect(start(&scheduler) == [])
    scheduler.remove(1)
    #expect(start(&scheduler) == [5_000])
    scheduler.remove(2)
    #expect(start(&scheduler) == [3])
  }

  @Test func freedSlotsAreUsed() {
    var scheduler = Scheduler(limits: .init(total: 10, perHost: 1))
    for id in 1...3 { scheduler.add(candidate(TransferID(id))) }
    #expect(start(&scheduler) == [1])
    #expect(scheduler.isRunning(1))
    scheduler.remove(1)
    #expect(!scheduler.contains(1))
    #expect(start(&scheduler) == [2])
    // Adding a running one again counts it as ended.
    scheduler.add(candidate(2))
    #expect(start(&scheduler) == [2])
    #expect(scheduler.runningCount == 1)
  }

  @Test func aRetryWaitsByTheBootClock() {
    var scheduler = Scheduler()
    let delay = Scheduler.Delay(until: .instant(clock.now + 10), reason: .retry(because: "lost", failures: 1))
    scheduler.add(candidate(1, delay: delay))
    #expect(scheduler.waitingReason(of: 1) == .retry(because: "lost", failures: 1))
    // Neither direction of a jump of the wall clock starts it or keeps it.
    clock.setWallClock(forward: 86_400)
    #expect(scheduler.decide(now: clock.now, date: clock.date) == .init(start: [], wakeAfter: 10))
    clock.setWallClock(forward: -172_800)
    clock.advance(by: 9)
    #expect(scheduler.decide(now: clock.now, date: clock.date) == .init(start: [], wakeAfter: 1))
    clock.advance(by: 1)
    #expect(scheduler.decide(now: clock.now, date: clock.date) == .init(start: [1], wakeAfter: nil))
  }

  @Test func aDateWaitsByTheWallClock() {
    var scheduler = Scheduler()
    let date = clock.date + 100
    scheduler.add(candidate(1, delay: .init(until: .date(date), reason: .earliestBegin(date))))
    #expect(scheduler.decide(now: clock.now, date: clock.date) == .init(start: [], wakeAfter: 100))
    #expect(scheduler.remainingDelay(of: 1, now: clock.now, date: clock.date) == 100)
    clock.setWallClock(forward: 100)
    #expect(start(&scheduler) == [1])
    #expect(scheduler.remainingDelay(of: 1, now: clock.now, date: clock.date) == nil)
  }

  @Test func wakesForTheEarliestDelay() {
    var scheduler = Scheduler()
    for (id, seconds) in [(1, 30.0), (2, 5.0), (3, 60.0)] {
      scheduler.add(
        candidate(
          TransferID(id),
          delay: .init(until: .instant(clock.now + seconds), reason: .retry(because: "", failures: 1))))
    }
    #expect(scheduler.decide(now: clock.now, date: clock.date).wakeAfter == 5)
    scheduler.remove(2)
    #expect(scheduler.decide(now: clock.now, date: clock.date).wakeAfter == 30)
  }

  @Test func aChangedPriorityChangesTheOrder() {
    var scheduler = Scheduler(limits: .init(total: 1))
    for id in 1...4 { scheduler.add(candidate(TransferID(id))) }
    scheduler.setPriority(1, of: 3)
    scheduler.setPriority(0, of: 1)
    var order: [TransferID] = []
    while let next = start(&scheduler).first {
      order.append(next)
      scheduler.remove(next)
    }
    #expect(order == [3, 2, 4, 1])
  }

  /// Whatever happens, the limits hold and everything runs once.
  @Test func randomHistoriesKeepTheLimits() {
    for _ in 0..<50 {
      var scheduler = Scheduler(limits: .init(total: 5, perHost: 2))
      var hosts: [TransferID: String] = [:]
      var running: Set<TransferID> = []
      var waiting: Set<TransferID> = []
      for id in 1...200 {
        let host = ["a", "b", "c", "d"].randomElement() ?? "a"
        let added = candidate(
          TransferID(id), app: Int64.random(in: 1...3), host: host, priority: Float(Int.random(in: 0...2)) / 2)
        scheduler.add(added)
        hosts[added.id] = host
        waiting.insert(added.id)
        if Bool.random(), let gone = (running.union(waiting)).randomElement() {
          scheduler.remove(gone)
          running.remove(gone)
          waiting.remove(gone)
        }
        for started in start(&scheduler) {
          #expect(waiting.remove(started) != nil)
          running.insert(started)
        }
        #expect(running.count <= 5 && running.count == scheduler.runningCount)
        #expect(Dictionary(grouping: running) { hosts[$0] ?? "" }.values.allSatisfy { $0.count <= 2 })
      }
      while let done = running.popFirst() {
        scheduler.remove(done)
        for started in start(&scheduler) {
          #expect(waiting.remove(started) != nil)
          running.insert(started)
        }
      }
      #expect(waiting.isEmpty && scheduler.count == 0)
    }
  }

  @Test func everyOneOfTenThousandStartsOnce() {
    var scheduler = Scheduler()
    for id in 1...10_000 { scheduler.add(candidate(TransferID(id), priority: Float(id % 3))) }
    var count = 0
    while let next = start(&scheduler).first {
      // One ends, one begins: the life of a long queue.
      count += 1
      scheduler.remove(next)
      scheduler.add(candidate(next))
      scheduler.remove(next)
      if count == 2_000 { break }
    }
    #expect(count == 2_000)
  }
}
