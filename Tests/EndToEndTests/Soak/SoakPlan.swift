import Foundation

/// How long a soak lasts and how much it queues. The usual tests run a short one; `make soak` sets the variables for a
/// long one.
struct SoakPlan: Sendable {
  /// `SOAK_SECONDS`: how long things go wrong. Everything must arrive after that.
  var seconds: Double
  /// `SOAK_TASKS`: of all apps together.
  var tasks: Int
  /// `SOAK_APPS`.
  var apps: Int
  /// `SOAK_SEED`: repeats the choices of a run, as far as processes let it.
  var seed: UInt64
  /// `SOAK_LOGS`: a folder that gets the logs of the service and of the apps; nil: none.
  var logs: String?

  /// Tasks that an app queues at a time.
  let batch = 20
  /// Of the disk with the service's state.
  let diskBytes = 192 << 20
  /// Seconds between two faults, and those that a fault lasts.
  let pace: ClosedRange<Double>
  /// How long every task may take to arrive once nothing goes wrong any more.
  let patience: Duration
  /// The longest time in which an app that has tasks gets none of them done. Nothing starts while the network or a folder is
  /// away, and then tasks wait as long as their failures in a row say.
  let longestWait: Double

  var isLong: Bool { seconds > 60 }

  init(_ environment: [String: String]) {
    func number(_ name: String) -> Double? { environment[name].flatMap { Double($0) } }
    seconds = number("SOAK_SECONDS") ?? 4
    tasks = number("SOAK_TASKS").map { Int($0) } ?? 60
    apps = number("SOAK_APPS").map { Int($0) } ?? 2
    seed = number("SOAK_SEED").map { UInt64($0) } ?? .random(in: 0..<1_000_000)
    logs = environment["SOAK_LOGS"]
    pace = seconds > 60 ? 0.5...5.0 : 0.02...0.15
    patience = seconds > 60 ? .seconds(900) : .seconds(120)
    longestWait = 180
  }
}
