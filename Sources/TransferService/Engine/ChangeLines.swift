import DequeModule

/// Changes of the queue that begin with what it has: those of one subject are made one after the other, in the order in which
/// they were asked for, so that none writes over another that is still being written. A value.
struct ChangeLines {
  enum Subject: Hashable, Sendable {
    /// The description of a transfer.
    case description(TransferID)
    /// Which sessions an app has, and their options.
    case sessions(AppID)
    case limits(LimitSubject)
    /// Tasks of a session that are being made. None of these changes waits for another one.
    case newTasks(SessionID)
  }

  typealias Work = @Sendable (TransferEngine) -> Void

  private struct Line {
    /// How many changes are being written.
    var changes = 0
    /// Is done when no change is being written any more.
    var following: [Work] = []
    /// May begin changes of its own: one after the other.
    var waiting: Deque<Work> = []
    /// One that has waited is being done now.
    var isOpen = false
  }

  private var lines: [Subject: Line] = [:]

  /// Whether a change is being written, or others that have waited come first.
  func isBusy(_ subject: Subject) -> Bool { lines[subject].map { $0.changes > 0 || !$0.isOpen } ?? false }

  func isWriting(_ subject: Subject) -> Bool { lines[subject].map { $0.changes > 0 } ?? false }

  /// Sessions are being made, changed or ended.
  var hasSessions: Bool {
    lines.contains { if case .sessions = $0 { $1.changes > 0 } else { false } }
  }

  /// A change is handed to the store.
  mutating func begin(_ subject: Subject) { lines[subject, default: Line()].changes += 1 }

  /// - Parameter work: is to be done when no change of the subject, which is busy, is being written any more.
  mutating func follow(_ subject: Subject, _ work: @escaping Work) {
    assert(lines[subject] != nil, "Nothing would ever do the work.")
    lines[subject]?.following.append(work)
  }

  /// - Parameter work: may begin a change of the subject, which is busy. It is to be done when it is the first one that waits
  ///   and no change is being written.
  mutating func wait(for subject: Subject, _ work: @escaping Work) {
    assert(lines[subject] != nil, "Nothing would ever do the work.")
    lines[subject]?.waiting.append(work)
  }

  /// A change is on the disk, or was not made. `takeFollowing` and `takeNext` have to come after it.
  mutating func end(_ subject: Subject) { lines[subject]?.changes -= 1 }

  /// - Returns: what follows the last change; nothing while one is being written.
  mutating func takeFollowing(_ subject: Subject) -> [Work] {
    guard let line = lines[subject], line.changes <= 0 else { return [] }
    if line.waiting.isEmpty { lines[subject] = nil } else { lines[subject]?.following = [] }
    return line.following
  }

  /// - Returns: the first one that waits, to be done between `open` and `close`. Until then the subject is busy. nil where
  ///   there is none, or a change is being written.
  mutating func takeNext(_ subject: Subject) -> Work? {
    guard let line = lines[subject], line.changes <= 0 else { return nil }
    return lines[subject]?.waiting.popFirst()
  }

  mutating func open(_ subject: Subject) { lines[subject]?.isOpen = true }

  /// `takeFollowing` and `takeNext` have to come after it: the work may have begun no change.
  mutating func close(_ subject: Subject) { lines[subject]?.isOpen = false }
}
