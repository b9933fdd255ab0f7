import Foundation
import SystemServices

/// Whether a transfer that can wait runs now: when it gets in the way of nothing, and in spite of ever more the nearer its
/// deadline comes. `Docs/Decisions/0132-when-discretionary-transfers-run.md` has the reasons.
package enum DiscretionaryRule {
  /// A condition that keeps a transfer waiting.
  package enum Bar: String, Sendable, CaseIterable {
    case notConnected, constrained, expensive, batteryLow, onBattery, busy, userActive

    /// The part of the time for the whole resource, which ends with the deadline, after which a transfer runs all the same.
    package var relaxesAt: Double {
      switch self {
      case .userActive: 0.125
      case .busy: 0.25
      case .onBattery: 0.5
      case .batteryLow: 0.75
      case .expensive: 0.75
      case .constrained: 0.9
      case .notConnected: 0.9
      }
    }

    /// Whether a run that is under way ends for it. A busy machine is left alone by reading more slowly, and a network that
    /// is gone ends a run by itself.
    package var stopsRuns: Bool {
      switch self {
      case .constrained, .expensive, .batteryLow, .onBattery: true
      case .notConnected, .busy, .userActive: false
      }
    }
  }

  /// The facts of a transfer by which it is decided.
  package struct Transfer: Sendable, Equatable {
    /// Seconds since the time for the whole resource began.
    package var age: TimeInterval
    /// Seconds from then to its deadline; nil: there is none, and a week is taken.
    package var limit: TimeInterval?
    /// Bytes still to come and to go; nil when they are not known.
    package var expectedBytes: Int64?
    /// Whether its session may use such networks at all.
    package var allowsExpensive = true
    package var allowsConstrained = true

    package init(age: TimeInterval, limit: TimeInterval? = nil, expectedBytes: Int64? = nil) {
      (self.age, self.limit, self.expectedBytes) = (age, limit, expectedBytes)
    }
  }

  package enum Verdict: Sendable, Equatable {
    case run
    /// `seconds`: until it is to be looked at again where no condition changes before.
    case wait(WaitingReason, seconds: TimeInterval)
  }

  /// So few bytes are hardly worth a wait for power or for an idle machine.
  package static let small: Int64 = 1 << 20
  /// So many bytes wait for a user who is away. A length that is not known is neither large nor small: before a server has
  /// answered that of most downloads is not, and a user who is always there would hold them all back for an eighth of their
  /// time.
  package static let large: Int64 = 100 << 20
  /// Processes for each processor above which a machine is busy; more where the user is away.
  package static let busyLoad = 0.8
  package static let busyLoadWhileIdle = 2.0
  /// Nothing tells of a load that falls.
  package static let loadCheck: TimeInterval = 60
  /// Seconds until the conditions are there, at most.
  package static let readingPatience: TimeInterval = 5
  private static let week: TimeInterval = 7 * 86_400

  /// The seconds that are taken for those to the deadline.
  package static func limit(_ seconds: TimeInterval?) -> TimeInterval {
    seconds.flatMap { $0 > 0 && $0.isFinite ? $0 : nil } ?? week
  }

  /// - Parameter conditions: nil while they are being read.
  package static func verdict(_ conditions: MachineConditions?, for transfer: Transfer) -> Verdict {
    guard let conditions else { return .wait(.conditionsUnknown, seconds: readingPatience) }
    let limit = limit(transfer.limit)
    let part = max(0, transfer.age) / limit
    // The one that lasts longest is told.
    let bars = bars(conditions, for: transfer).filter { part < $0.relaxesAt }
    guard let bar = bars.max(by: { $0.relaxesAt < $1.relaxesAt }) else { return .run }
    let relaxation = bar.relaxesAt * limit - max(0, transfer.age)
    let seconds = bars.contains(.busy) ? min(relaxation, loadCheck) : relaxation
    return .wait(.discretionary(bar), seconds: max(seconds, 1))
  }

  private static func bars(_ conditions: MachineConditions, for transfer: Transfer) -> [Bar] {
    var bars: [Bar] = []
    if conditions.isConnected == false { bars.append(.notConnected) }
    // A session that may not use such a network finds out for each connection: another network may lead to the server.
    if conditions.network?.contains(.constrained) == true, transfer.allowsConstrained { bars.append(.constrained) }
    if conditions.network?.contains(.expensive) == true, transfer.allowsExpensive { bars.append(.expensive) }
    if let bytes = transfer.expectedBytes, bytes <= small { return bars }
    if conditions.isOnBattery == true {
      if conditions.isBatteryLow == true { bars.append(.batteryLow) }
      bars.append(.onBattery)
    }
    let busy = conditions.isUserIdle == true ? busyLoadWhileIdle : busyLoad
    if let load = conditions.load, load > busy { bars.append(.busy) }
    if conditions.isUserIdle == false, let bytes = transfer.expectedBytes, bytes >= large { bars.append(.userActive) }
    return bars
  }
}

extension DiscretionaryRule.Bar {
  /// Behind "It can wait, and does so while".
  package var clause: String {
    switch self {
    case .notConnected: "the internet can't be reached"
    case .constrained: "the network is marked as constrained"
    case .expensive: "the network costs money"
    case .batteryLow: "the battery is low"
    case .onBattery: "the machine runs on battery"
    case .busy: "the machine is busy"
    case .userActive: "the machine is in use, since it is large"
    }
  }
}
