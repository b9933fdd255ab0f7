import Foundation
import SystemServices
import Testing

@testable import TransferService

/// When a transfer that can wait runs. The time to its deadline is 1000 s.
@Suite struct DiscretionaryRuleTests {
  typealias Rule = DiscretionaryRule

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let conditions: MachineConditions
    let age: TimeInterval
    let bytes: Int64?
    /// nil: it runs.
    let bar: Rule.Bar?
    var seconds: TimeInterval?

    init(
      _ description: String, age: TimeInterval = 0, bytes: Int64? = nil, _ bar: Rule.Bar?, after: TimeInterval? = nil,
      _ change: (inout MachineConditions) -> Void = { _ in }
    ) {
      testDescription = description
      var conditions = MachineConditions()
      (conditions.isConnected, conditions.network, conditions.isOnBattery) = (true, [], false)
      (conditions.isBatteryLow, conditions.isUserIdle, conditions.load) = (false, true, 0.1)
      change(&conditions)
      (self.conditions, self.age, self.bytes, self.bar, seconds) = (conditions, age, bytes, bar, after)
    }
  }

  static let cases = [
    Case("free network, power, idle", nil),
    Case("nothing is known", nil) { $0 = MachineConditions() },
    Case("no internet", .notConnected, after: 900) { $0.isConnected = false },
    Case("no internet, near the deadline", age: 900, nil) { $0.isConnected = false },
    Case("a network that costs", .expensive, after: 750) { $0.network = .expensive },
    Case("a network that costs, later", age: 749, .expensive, after: 1) { $0.network = .expensive },
    Case("a network that costs, in the last quarter", age: 750, nil) { $0.network = .expensive },
    Case("a mobile network with a flat rate", nil) { $0.network = .cellular },
    Case("a constrained network", .constrained, after: 900) { $0.network = [.expensive, .constrained] },
    Case("a constrained network in the last quarter", age: 800, .constrained, after: 100) {
      $0.network = [.expensive, .constrained]
    },
    Case("on battery", .onBattery, after: 500) { $0.isOnBattery = true },
    Case("on battery in the second half", age: 500, nil) { $0.isOnBattery = true },
    Case("a low battery", .batteryLow, after: 750) { ($0.isOnBattery, $0.isBatteryLow) = (true, true) },
    Case("a low battery in the second half", age: 500, .batteryLow, after: 250) {
      ($0.isOnBattery, $0.isBatteryLow) = (true, true)
    },
    Case("a low battery that is being charged", nil) { $0.isBatteryLow = true },
    Case("a busy machine is looked at again each minute", .busy, after: 60) {
      $0.load = 1.5; $0.isUserIdle = nil
    },
    Case("a busy machine after a quarter", age: 250, nil) {
      $0.load = 1.5; $0.isUserIdle = nil
    },
    Case("busy while the user is away", nil) { $0.load = 1.5 },
    Case("very busy while the user is away", .busy, after: 60) { $0.load = 2.5 },
    Case("a user at the machine and bytes of which the number is not known", nil) { $0.isUserIdle = false },
    Case("a user at the machine and fewer bytes", bytes: (100 << 20) - 1, nil) { $0.isUserIdle = false },
    Case("a user at the machine and just so many bytes", bytes: 100 << 20, .userActive, after: 125) {
      $0.isUserIdle = false
    },
    Case("a length that is not known on battery", .onBattery, after: 500) { $0.isOnBattery = true },
    Case("a length that is not known on a busy machine", .busy, after: 60) { $0.load = 9 },
    Case("a user at the machine and many bytes", bytes: 200 << 20, .userActive, after: 125) { $0.isUserIdle = false },
    Case("a user at the machine and many bytes, later", age: 125, bytes: 200 << 20, nil) { $0.isUserIdle = false },
    Case("few bytes on battery", bytes: 1_000, nil) { $0.isOnBattery = true },
    Case("few bytes on a busy machine", bytes: 1_000, nil) { $0.load = 9 },
    Case("few bytes over a network that costs", bytes: 1_000, .expensive, after: 750) { $0.network = .expensive },
    Case("the longest wait is told", .expensive, after: 750) { ($0.isOnBattery, $0.network) = (true, .expensive) },
    Case("a busy machine on battery", .onBattery, after: 60) { ($0.isOnBattery, $0.load) = (true, 9) },
    Case("a wall clock that was set back", age: -50, .onBattery, after: 500) { $0.isOnBattery = true },
  ]

  @Test(arguments: cases) func conditionsRelaxTowardTheDeadline(_ test: Case) {
    let verdict = Rule.verdict(
      test.conditions, for: Rule.Transfer(age: test.age, limit: 1_000, expectedBytes: test.bytes))
    guard let bar = test.bar else {
      #expect(verdict == .run)
      return
    }
    #expect(verdict == .wait(.discretionary(bar), seconds: test.seconds ?? 0))
  }

  @Test func withoutADeadlineAWeekIsTaken() {
    var conditions = MachineConditions()
    conditions.isOnBattery = true
    for limit in [nil, 0, TimeInterval.infinity] {
      let verdict = Rule.verdict(conditions, for: .init(age: 0, limit: limit))
      #expect(verdict == .wait(.discretionary(.onBattery), seconds: 3.5 * 86_400))
    }
  }

  @Test func conditionsThatAreBeingReadAreWaitedFor() {
    #expect(
      Rule.verdict(nil, for: .init(age: 0)) == .wait(.conditionsUnknown, seconds: Rule.readingPatience))
  }

  /// A session that may not use such a network waits for another one by the rules of each connection.
  @Test func networksThatASessionMayNotUseAreNotWaitedOut() {
    var conditions = MachineConditions()
    conditions.network = [.expensive, .constrained]
    var transfer = Rule.Transfer(age: 0)
    (transfer.allowsExpensive, transfer.allowsConstrained) = (false, false)
    #expect(Rule.verdict(conditions, for: transfer) == .run)
  }
}
