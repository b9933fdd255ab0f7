/// Decides which of the sessions of a group are left to the transfer service before the service has the tasks of all. A value.
///
/// Several commands may have some of the connections that the service has for their program, and wait for the rest. A group that
/// waits for others keeps none of those whose tasks the service has, or not for long.
struct GroupLeaving {
  enum Rule: Sendable {
    /// Each one as soon as the service has its task.
    case atOnce
    /// Those whose tasks the service has, once others have waited for a while.
    case whenOthersWait
  }

  private let rule: Rule
  /// How many of the group the service does not have yet.
  private(set) var missing: Int
  /// Those that the service has, and that were not left.
  private var held: [Int] = []
  private var isPatient = true

  init(_ rule: Rule, count: Int) {
    self.rule = rule
    missing = count
  }

  /// The service has the task of the session with that index. Returns whether the session is left.
  mutating func handedOver(_ index: Int) -> Bool {
    missing -= 1
    if rule == .atOnce || !isPatient && missing > 0 { return true }
    held.append(index)
    return false
  }

  /// The others have waited for long. Returns those that are left.
  mutating func patienceEnded() -> [Int] {
    guard missing > 0 else { return [] }
    isPatient = false
    defer { held = [] }
    return held
  }
}
