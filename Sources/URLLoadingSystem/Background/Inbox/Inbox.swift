import TransferProtocol

/// Decides which of the service's events are delivered to the app and which are acknowledged. A value: it takes an event
/// and returns the action to perform.
///
/// An event is delivered once in this process. It is acknowledged when the app has handled it, and again over the next
/// connection for as long as the service has not confirmed the acknowledgement. One acknowledgement is under way at a time;
/// events that are handled meanwhile wait for its answer and are one message, and one commit of the service.
struct Inbox {
  enum Action: Equatable {
    case nothing
    case deliver
    case acknowledge([Int64])
    /// Leaves them to the service, so that it sends those behind them.
    case keep([Int64])
    /// Acknowledges nothing until `pauseEnded`.
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

  private enum Line {
    case detached
    /// An acknowledgement may be sent.
    case free
    case acknowledging
    case paused
  }

  private struct Entry {
    let task: Int
    var state: State
  }

  /// How many numbers a message may have.
  private let limit: Int

  /// - Parameter awaitsFinish: whether the process was started for the events of this session: it waits to be told that all are
  ///   delivered, also by a service that has lost its queue, or has no events because another process has handled them.
  init(limit: Int = MessageFraming.maximumListCount, awaitsFinish: Bool = false) {
    self.limit = limit
    isFinishPromised = awaitsFinish
  }

  /// Events from their delivery until the service has confirmed their acknowledgement.
  private var entries: [Int64: Entry] = [:]
  /// Those that are to be acknowledged next.
  private var waiting: Set<Int64> = []
  private var line = Line.detached
  /// How many of the events each task has. None has 0.
  private var counts: [Int: Int] = [:]
  /// Tasks that the service has listed although the app was told of their end, until it lists them no more.
  private var told: Set<Int> = []
  /// The service has promised to say when everything is delivered, and has not said so yet.
  private var isFinishPromised: Bool

  /// Whether the app is told of no event at the moment, and no acknowledgement is to be confirmed, but for those that the service
  /// has refused for good.
  var isSettled: Bool {
    entries.allSatisfy { sequence, entry in
      switch entry.state {
      case .kept: true
      case .delivering, .acknowledging: false
      case .handled: if case .free = line { !waiting.contains(sequence) } else { false }
      }
    }
  }

  /// Whether there are events of that task that the service may still have.
  func hasEvents(of task: Int) -> Bool { counts[task] != nil }

  /// The service has listed a task of which there is no task object. Returns whether the app was told of its end: the service
  /// lists it until it has the acknowledgement.
  ///
  /// A service that has lost its queue makes the events of such a task anew, with other numbers. They are acknowledged when
  /// those before them are, and become no call.
  mutating func wasTold(of task: Int) -> Bool {
    if hasEvents(of: task) { told.insert(task) }
    return told.contains(task)
  }

  /// The service has listed all tasks that it has over a new connection. Those that it has no more are forgotten.
  mutating func listed(all tasks: Set<Int>) {
    told = told.filter { tasks.contains($0) || hasEvents(of: $0) }
  }

  /// Whether events of that task are left to a process that has a delegate, which is to be told of its end.
  func isLeft(_ task: Int) -> Bool {
    hasEvents(of: task) && entries.values.contains { $0.task == task && $0.state == .kept }
  }

  /// - Parameter isKnown: whether there is a task object of that number. The events of others, where the app was not told of
  ///   their end, stay in the service's log. They are left to it each time that they arrive, since it sends them over each
  ///   connection.
  mutating func received(_ sequence: Int64, task: Int, isKnown: Bool) -> Action {
    guard let entry = entries[sequence] else {
      guard isKnown else { return madeAnew(sequence, task: task) }
      add(sequence, task: task, .delivering)
      return .deliver
    }
    switch entry.state {
    case .delivering, .acknowledging: return .nothing
    case .handled:
      waiting.insert(sequence)
      return acknowledge()
    case .kept: return .keep([sequence])
    }
  }

  private mutating func add(_ sequence: Int64, task: Int, _ state: State) {
    entries[sequence] = Entry(task: task, state: state)
    counts[task, default: 0] += 1
  }

  private mutating func remove(_ sequence: Int64) {
    guard let task = entries.removeValue(forKey: sequence)?.task, let count = counts[task] else { return }
    counts[task] = count > 1 ? count - 1 : nil
  }

  private mutating func madeAnew(_ sequence: Int64, task: Int) -> Action {
    guard told.contains(task) else { return .keep([sequence]) }
    var isHandled = true
    for entry in entries.values where entry.task == task {
      switch entry.state {
      case .kept: return .keep([sequence])
      case .delivering: isHandled = false
      case .handled, .acknowledging: break
      }
    }
    guard isHandled else {
      add(sequence, task: task, .delivering)
      return .nothing
    }
    add(sequence, task: task, .handled)
    waiting.insert(sequence)
    return acknowledge()
  }

  /// The events, and those that the service has made anew of the same tasks.
  private func withAnew(_ sequences: [Int64]) -> [Int64] {
    guard !told.isEmpty else { return sequences }
    let tasks = told.intersection(sequences.compactMap { entries[$0]?.task })
    guard !tasks.isEmpty else { return sequences }
    let anew = entries.filter { tasks.contains($0.value.task) && $0.value.state == .delivering }
    return Array(Set(sequences).union(anew.keys)).sorted()
  }

  /// There is no delegate to handle these events.
  mutating func leave(_ sequences: [Int64]) -> Action {
    let sequences = withAnew(sequences)
    for sequence in sequences { entries[sequence]?.state = .kept }
    return line != .detached && !sequences.isEmpty ? .keep(sequences) : .nothing
  }

  /// The app's delegate has returned from the calls that these events became.
  mutating func handled(_ sequences: [Int64]) -> Action {
    for sequence in withAnew(sequences) where entries[sequence] != nil {
      entries[sequence]?.state = .handled
      waiting.insert(sequence)
    }
    return acknowledge()
  }

  /// The service has confirmed the acknowledgement: it does not send these again.
  mutating func acknowledged(_ sequences: [Int64]) -> Action {
    for sequence in sequences { remove(sequence) }
    return goOn()
  }

  /// - Parameter isTemporary: whether the service may take the same acknowledgement later.
  mutating func acknowledgementRefused(_ sequences: [Int64], isTemporary: Bool) -> Action {
    for sequence in sequences { entries[sequence]?.state = .handled }
    // Those that are refused for good are told over the next connection.
    guard isTemporary, case .acknowledging = line else { return goOn() }
    waiting.formUnion(sequences)
    line = .paused
    return .pause
  }

  mutating func pauseEnded() -> Action {
    guard case .paused = line else { return .nothing }
    line = .free
    return acknowledge()
  }

  mutating func detached() {
    line = .detached
    for (sequence, entry) in entries {
      if case .acknowledging = entry.state { entries[sequence]?.state = .handled }
    }
  }

  /// - Parameter willFinish: whether the service promises to say when everything is delivered.
  mutating func attached(willFinish: Bool) -> [Action] {
    line = .free
    waiting = Set(entries.filter { if case .handled = $0.value.state { true } else { false } }.keys)
    var actions = [acknowledge()]
    // Promised by a service that ended after the last acknowledgement, or by the start of the process: this one has nothing to
    // deliver.
    if isFinishPromised, !willFinish { actions.append(.tellFinished) }
    isFinishPromised = willFinish
    return actions.filter { $0 != .nothing }
  }

  /// The service has said that everything is delivered.
  mutating func finished() -> Action {
    isFinishPromised = false
    return .tellFinished
  }

  /// The answer to an acknowledgement has come.
  private mutating func goOn() -> Action {
    guard case .acknowledging = line else { return .nothing }
    line = .free
    return acknowledge()
  }

  private mutating func acknowledge() -> Action {
    guard case .free = line, !waiting.isEmpty else { return .nothing }
    let next = Array(waiting.sorted().prefix(limit))
    waiting.subtract(next)
    for sequence in next { entries[sequence]?.state = .acknowledging }
    line = .acknowledging
    return .acknowledge(next)
  }
}
