import Foundation
import LoopbackServer
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

/// What the scheduler counts, beside what runs.
@Suite struct SchedulerCountsTests {
  private let clock = FakeClock()

  /// As they are after any history, made anew from what runs.
  private func counts(of scheduler: Scheduler) -> RunningCounts {
    var counts = RunningCounts()
    for (id, turn) in scheduler.running {
      guard let entry = scheduler.entries[id] else {
        Issue.record("transfer \(id) runs and is not known")
        continue
      }
      let isAside = turn.isParked || !turn.isRepeatable && (entry.isSlow || turn.isLong)
      counts.add(
        .init(
          app: entry.candidate.app, session: entry.candidate.session, host: entry.candidate.host, address: turn.address,
          isAside: isAside, hasArrived: turn.hasArrived))
    }
    return counts
  }

  private func candidate(_ id: TransferID, _ generator: inout SeededGenerator) -> Scheduler.Candidate {
    let app = AppID.random(in: 1...3, using: &generator)
    let session = app * 10 + SessionID.random(in: 0...1, using: &generator)
    var delay: Scheduler.Delay?
    if generator.chance(in: 8) { delay = .init(until: .instant(clock.now + 20), reason: .turn) }
    return .init(
      id: id, app: app, session: session,
      host: ["a", "b", "c"].randomElement(using: &generator) ?? "", priority: .random(in: 0...1, using: &generator),
      sessionLimit: Int(session % 3) + 1, delay: delay, since: clock.now,
      isSuspect: generator.chance(in: 20))
  }

  private func change(_ scheduler: inout Scheduler, _ generator: inout SeededGenerator) {
    // Some of them run, some wait, and some are not known.
    let id = TransferID.random(in: 1...40, using: &generator)
    switch Int.random(in: 0...11, using: &generator) {
    case 0...2: scheduler.add(candidate(id, &generator))
    case 3: scheduler.remove(id)
    case 4: scheduler.setParked(generator.chance(in: 2), id, at: clock.now)
    case 5: scheduler.setRepeatable(generator.chance(in: 2), id)
    case 6: if generator.chance(in: 3) { scheduler.setArrived(id) }
    case 7:
      scheduler.connected(
        id, to: ["::1", "::2"].randomElement(using: &generator) ?? "", isOfHost: generator.chance(in: 2), at: clock.now)
    case 8: scheduler.setPriority(.random(in: 0...1, using: &generator), of: id)
    case 9:
      scheduler.beginAcquittal(of: id)
      scheduler.endAcquittal(of: id)
    default:
      clock.advance(by: .random(in: 1...60, using: &generator))
      for id in scheduler.running.keys.sorted() where generator.chance(in: 2) {
        scheduler.moved(.random(in: 0...200_000, using: &generator), loss: 1 << 20, of: id, at: clock.now)
      }
    }
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>) func theCountsAreThoseOfWhatRuns(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var limits = Scheduler.Limits(total: 6, perHost: 2)
    (limits.slow, limits.longSlice) = (1, 200)
    var scheduler = Scheduler(limits: limits)
    for step in 1...400 {
      change(&scheduler, &generator)
      #expect(scheduler.counts == counts(of: scheduler), "step \(step)")
      guard generator.chance(in: 2) else { continue }
      let decision = scheduler.decide(now: clock.now, date: clock.date)
      #expect(scheduler.counts == counts(of: scheduler), "step \(step)")
      for id in decision.start { expectPlaces(of: id, scheduler) }
      // Those that were told to stop do so now, or later by another change.
      for id in decision.stop where generator.chance(in: 2) {
        guard var candidate = scheduler.entries[id]?.candidate else { continue }
        candidate.since = clock.now
        scheduler.add(candidate)
      }
      #expect(scheduler.counts == counts(of: scheduler), "step \(step)")
    }
    for id: TransferID in 1...40 { scheduler.remove(id) }
    #expect(scheduler.counts == RunningCounts() && scheduler.count == 0 && scheduler.runningCount == 0)
  }

  /// One that starts is within all limits. Those that ran before may be more since, when they are aside no longer.
  private func expectPlaces(of id: TransferID, _ scheduler: Scheduler) {
    let limits = scheduler.limits
    guard let started = scheduler.entries[id]?.candidate else {
      Issue.record("transfer \(id) is not known")
      return
    }
    let atHost = scheduler.running.compactMap { id, turn -> (app: AppID, session: SessionID, isAside: Bool)? in
      guard let entry = scheduler.entries[id], entry.candidate.host == started.host, !turn.hasArrived else {
        return nil
      }
      let isAside = turn.isParked || !turn.isRepeatable && (entry.isSlow || turn.isLong)
      return (entry.candidate.app, entry.candidate.session, isAside)
    }
    #expect(atHost.count { !$0.isAside } <= limits.perHost)
    #expect(atHost.count { $0.app == started.app } <= limits.perHost)
    #expect(atHost.count { $0.session == started.session } <= started.sessionLimit)
    #expect(scheduler.running.keys.count { scheduler.entries[$0]?.candidate.app == started.app } <= limits.total)
    #expect(scheduler.runningCount <= 3 * limits.total)
  }
}
