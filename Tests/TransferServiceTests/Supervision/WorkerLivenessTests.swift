import Testing

@testable import TransferService

@Suite struct WorkerLivenessTests {
  private typealias Liveness = WorkerLiveness

  /// Few ticks of each kind.
  private static let rules = {
    var rules = WorkerLiveness.Rules()
    (rules.tick, rules.ticksForStart, rules.ticksOfRest, rules.ticksForAnswer, rules.ticksForAbort) = (5, 4, 2, 3, 1)
    return rules
  }()

  static let lives: [(name: String, events: [WorkerLiveness.Event], actions: [WorkerLiveness.Action?])] = [
    (
      "a start that takes too long", [.tick, .tick, .tick, .tick],
      [nil, nil, nil, .abort("it did not start within 20.0 s")]
    ),
    ("a start in time", [.tick, .tick, .tick, .resting, .tick, .tick, .tick], Array(repeating: nil, count: 7)),
    ("one that works is asked", [.busy, .tick, .tick, .busy, .tick, .tick], [nil, nil, .ask, nil, nil, .ask]),
    (
      "one that does not answer is ended", [.busy, .tick, .tick, .tick, .tick, .tick, .tick, .tick],
      [nil, nil, .ask, nil, nil, .abort("it did not answer within 15.0 s"), .kill, nil]
    ),
    ("one that rests is not asked", [.resting, .tick, .tick, .tick], [nil, nil, nil, nil]),
    (
      "unless it is needed", [.resting, .needed, .needed, .tick, .tick, .tick],
      [nil, .ask, nil, nil, nil, .abort("it did not answer within 15.0 s")]
    ),
    ("an answer in time", [.resting, .needed, .tick, .tick, .resting, .tick], [nil, .ask, nil, nil, nil, nil]),
    ("one that starts is not asked", [.needed, .tick, .busy], [nil, nil, nil]),
    ("one that begins to work", [.resting, .busy, .tick, .tick], [nil, nil, nil, .ask]),
    (
      "an answer after the abort changes nothing",
      [.busy, .tick, .tick, .tick, .tick, .tick, .resting, .needed, .tick],
      [nil, nil, .ask, nil, nil, .abort("it did not answer within 15.0 s"), nil, nil, .kill]
    ),
  ]

  @Test(arguments: lives.indices) func decides(_ index: Int) {
    let row = Self.lives[index]
    var liveness = Liveness(rules: Self.rules)
    #expect(row.events.map { liveness.handle($0) } == row.actions, "\(row.name)")
  }

  /// The kernel tells of no opened locks.
  @Test func oneThatRestsIsAskedWhereNoNeedIsTold() {
    var liveness = Liveness(rules: Self.rules, isToldOfNeeds: false)
    let events: [WorkerLiveness.Event] = [.resting, .tick, .tick, .resting, .tick, .tick, .tick, .tick, .tick]
    #expect(
      events.map { liveness.handle($0) } == [
        nil, nil, .ask, nil, nil, .ask, nil, nil, .abort("it did not answer within 15.0 s"),
      ])
    #expect(liveness.needsTicks)
  }

  /// The locks that the worker has made could not be watched, or could be again.
  @Test func whetherNeedsAreToldMayChange() {
    var liveness = Liveness(rules: Self.rules)
    liveness.isToldOfNeeds = false
    _ = liveness.handle(.resting)
    #expect(liveness.needsTicks)
    liveness.isToldOfNeeds = true
    _ = liveness.handle(.resting)
    #expect(!liveness.needsTicks)
  }

  /// Nothing wakes the supervisor of a worker with nothing to do.
  @Test func oneThatRestsNeedsNoTimer() {
    var liveness = Liveness(rules: Self.rules)
    #expect(liveness.needsTicks)
    _ = liveness.handle(.resting)
    #expect(!liveness.needsTicks)
    _ = liveness.handle(.needed)
    #expect(liveness.needsTicks)
    _ = liveness.handle(.busy)
    #expect(liveness.needsTicks)
  }
}
