import SystemServices

/// When the time for the whole resource is over, of each transfer that waits.
struct ResourceDeadlines {
  private var deadlines: [TransferID: BootInstant] = [:]
  /// None is over before this; nil when there is none. It may be too early after one was removed.
  private(set) var earliest: BootInstant?

  subscript(id: TransferID) -> BootInstant? {
    get { deadlines[id] }
    set {
      deadlines[id] = newValue
      guard let newValue else { return }
      earliest = min(earliest ?? newValue, newValue)
    }
  }

  /// Removes those that are over.
  mutating func takeOverdue(at now: BootInstant) -> [TransferID] {
    guard let earliest, earliest <= now else { return [] }
    let overdue = deadlines.filter { $0.value <= now }.keys.sorted()
    for id in overdue { deadlines[id] = nil }
    self.earliest = deadlines.values.min()
    return overdue
  }
}
