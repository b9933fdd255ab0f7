/// Decides which of the service's events are delivered to the app and which are acknowledged. A value: it takes an event
/// and returns the action to perform.
///
/// An event is delivered once in this process. It is acknowledged when the app has handled it, and again over the next
/// connection for as long as the service has not confirmed the acknowledgement.
struct Inbox {
  enum Action: Equatable {
    case nothing
    case deliver
    case acknowledge([Int64])
    /// Leaves them to the service, so that it sends those behind them.
    case keep([Int64])
    /// Acknowledges again, by `pauseEnded`, after a while.
    case pause
    /// Tells the delegate that all events are delivered.
    case tellFinished
  }

  private enum State {
    case delivering
    /// The app has handled it; no acknowledgement is under way.
    case handled
    case acknowledging
    /// No delegate can handle it.
    case kept
  }

  private struct Entry {
    let task: Int
    var state: State
  }

  /// Events from their delivery until the service has confirmed their acknowledgement.
  private var entries: [Int64: Entry] = [:]
  private var isAttached = false
  /// The service has promised to say when everything is delivered, and has not said so yet.
  private var isFinishPromised = false

  /// Whether the app was told of the end of that task, which the service lists until it has the acknowledgement.
  func hasEvents(of task: Int) -> Bool { entries.values.contains { $0.task == task } }

  /// - Parameter isKnown: whether there is a task object of that number. The events of others stay in the service's log.
  ///   They are left to it each time that they arrive, since it sends them over each connection.
  mutating func received(_ sequence: Int64, task: Int, isKnown: Bool) -> Action {
    guard let entry = entries[sequence] else {
      guard isKnown else { return .keep([sequence]) }
      entries[sequence] = Entry(task: task, state: .delivering)
      return .deliver
    }
    switch entry.state {
    case .delivering, .acknowledging: return .nothing
    case .handled: return acknowledge([sequence])
    case .kept: return .keep([sequence])
    }
  }

  /// There is no delegate to handle these events.
  mutating func leave(_ sequences: [Int64]) -> Action {
    for sequence in sequences { entries[sequence]?.state = .kept }
    return isAttached && !sequences.isEmpty ? .keep(sequences) : .nothing
  }

  /// The app's delegate has returned from the calls that these events became.
  mutating func handled(_ sequences: [Int64]) -> Action {
    for sequence in sequences { entries[sequence]?.state = .handled }
    return acknowledge(sequences)
  }

  /// The service has confirmed the acknowledgement: it does not send these again.
  mutating func acknowledged(_ sequences: [Int64]) {
    for sequence in sequences { entries[sequence] = nil }
  }

  /// - Parameter isTemporary: whether the service may take the same acknowledgement later.
  mutating func acknowledgementRefused(_ sequences: [Int64], isTemporary: Bool) -> Action {
    for sequence in sequences { entries[sequence]?.state = .handled }
    return isTemporary ? .pause : .nothing
  }

  mutating func pauseEnded() -> Action { acknowledge(allHandled) }

  mutating func detached() {
    isAttached = false
    for (sequence, entry) in entries {
      if case .acknowledging = entry.state { entries[sequence]?.state = .handled }
    }
  }

  /// - Parameter willFinish: whether the service promises to say when everything is delivered.
  mutating func attached(willFinish: Bool) -> [Action] {
    isAttached = true
    var actions = [acknowledge(allHandled)]
    // Promised by a service that ended after the last acknowledgement: this one has nothing to deliver.
    if isFinishPromised, !willFinish { actions.append(.tellFinished) }
    isFinishPromised = willFinish
    return actions.filter { $0 != .nothing }
  }

  /// The service has said that everything is delivered.
  mutating func finished() -> Action {
    isFinishPromised = false
    return .tellFinished
  }

  private var allHandled: [Int64] {
    entries.filter { if case .handled = $0.value.state { true } else { false } }.keys.sorted()
  }

  private mutating func acknowledge(_ sequences: [Int64]) -> Action {
    let known = sequences.filter { entries[$0] != nil }
    guard isAttached, !known.isEmpty else { return .nothing }
    for sequence in known { entries[sequence]?.state = .acknowledging }
    return .acknowledge(known)
  }
}
