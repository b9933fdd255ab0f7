/// Changes of the queue that begin with what it has: those of one subject are made one after the other, so that none writes
/// over another that is still being written. A value.
struct ChangeLines {
  enum Subject: Hashable, Sendable {
    /// The description of a transfer.
    case description(TransferID)
    /// Which sessions an app has, and their options.
    case sessions(AppID)
    case limits(LimitSubject)
  }

  private struct Line {
    /// How many changes are being written.
    var changes = 0
    var waiting: [(TransferEngine) -> Void] = []
  }

  private var lines: [Subject: Line] = [:]

  func isBusy(_ subject: Subject) -> Bool { lines[subject] != nil }

  /// Sessions are being made, changed or ended.
  var hasSessions: Bool {
    lines.keys.contains { if case .sessions = $0 { true } else { false } }
  }

  /// A change is handed to the store.
  mutating func begin(_ subject: Subject) { lines[subject, default: Line()].changes += 1 }

  /// - Parameter work: is to be done when no change of the subject is being written any more.
  mutating func add(to subject: Subject, _ work: @escaping (TransferEngine) -> Void) {
    assert(lines[subject] != nil, "Nothing would ever do the work.")
    lines[subject]?.waiting.append(work)
  }

  /// - Returns: what has waited for this end.
  mutating func end(_ subject: Subject) -> [(TransferEngine) -> Void] {
    lines[subject]?.changes -= 1
    guard let line = lines[subject], line.changes <= 0 else { return [] }
    lines[subject] = nil
    return line.waiting
  }
}
