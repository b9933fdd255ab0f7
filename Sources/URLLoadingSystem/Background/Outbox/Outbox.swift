import TransferProtocol

/// Decides what the service is told of a session's tasks, in which order, and what is told again. A value: it takes an
/// event and returns the actions to perform.
///
/// For each task it holds what the app wants and what the service knows. New tasks are created in batches, one batch at a
/// time, so that ten thousand tasks are a few messages and a few commits. Where the service knows a task but not what is
/// wanted of it, a request tells it, one at a time for each task. After a new connection the service says what it knows:
/// tasks that it does not know are created again, and the differences are told again.
struct Outbox {
  enum Action: Equatable {
    case create([Creation])
    case send(Request, task: Int)
    /// Cancels them all with one message. Answer: `cancellationEnded`.
    case cancel([Int])
    /// Calls `cancellationsGathered` after a moment, in which the app may cancel further tasks.
    case gatherCancellations
    /// Sends nothing until `pauseEnded`.
    case pause
    /// The service does not take the task.
    case fail(task: Int, sentence: String)
    /// The service has every task and every change so far.
    case flushed
  }

  struct Creation: Equatable {
    let task: Int
    let wanted: WantedTask
  }

  enum Request: Equatable {
    case suspend
    case resume
    case update(from: TaskHints, to: TaskHints)
    case edit(EditTransfer)
    case cancel(producingResumePoint: Bool)
  }

  enum Outcome: Equatable {
    case accepted
    /// The service may take the same thing later: its disk is full, or it is about to be replaced.
    case refusedForNow
    /// The service does not take it, or no message can be made of it.
    case refused(String)
    /// The connection ended first, which is or will be told by `detached`.
    case unanswered
  }

  private enum Phase {
    case queued
    /// A batch with this task in it was refused, so that the next message has this task only.
    case queuedAlone
    case creating(WantedTask)
    case created(KnownTask)
    case awaiting(Request, KnownTask)
    /// Nothing is to be told any more.
    case over
  }

  private struct Entry {
    var wanted: WantedTask
    /// About how many bytes it takes in a message.
    let weight: Int
    /// Whether an open file goes with it.
    var hasFile = false
    var phase = Phase.queued
    /// Whether the service is still to be told that the task is suspended, also where the app has resumed it since.
    var owesSuspension = false

    var isCreated: Bool {
      switch phase {
      case .queued, .queuedAlone, .creating: false
      case .created, .awaiting, .over: true
      }
    }
  }

  private enum Line {
    case detached
    /// Requests are sent, but no task is created before the service delivers the events that it has.
    case attached
    case open
    case paused
  }

  private var entries: [Int: Entry] = [:]
  private var line = Line.detached
  /// Tasks in the order in which they are to be created. It may name tasks that are over.
  private var queue: [Int] = []
  /// The tasks of the creation that is under way.
  private var batch: [Int] = []
  private var isFlushWanted = false
  private var cancellations = GatheredCancellations()

  private let maximumCount: Int
  private let maximumWeight: Int
  /// How many open files one message may bring.
  private let maximumFiles: Int

  init(maximumCount: Int, maximumWeight: Int, maximumFiles: Int = 64) {
    self.maximumCount = maximumCount
    self.maximumWeight = maximumWeight
    self.maximumFiles = maximumFiles
  }

  /// Whether the service has any of the tasks.
  var hasCreated: Bool { entries.values.contains { $0.isCreated } }

  /// Whether the service is known to have the task.
  func isCreated(_ task: Int) -> Bool { entries[task]?.isCreated ?? false }

  // MARK: What the app does

  /// - Parameter hasFile: whether an open file goes with it.
  mutating func add(_ task: Int, _ wanted: WantedTask, weight: Int, hasFile: Bool = false) -> [Action] {
    entries[task] = Entry(wanted: wanted, weight: weight, hasFile: hasFile)
    queue.append(task)
    return creation()
  }

  /// A task that an earlier process made.
  mutating func adopt(_ task: Int, _ wanted: WantedTask, known: KnownTask, weight: Int) {
    entries[task] = Entry(wanted: wanted, weight: weight, phase: .created(known))
  }

  /// - Parameter tellsSuspension: whether the service is told that the app has suspended the task before it is told of a
  ///   resumption: that lets one go on which was set aside. Elsewhere the two that follow each other are none.
  mutating func change(_ task: Int, _ wanted: WantedTask, tellsSuspension: Bool = false) -> [Action] {
    guard entries[task] != nil else { return [] }
    entries[task]?.wanted = wanted
    if tellsSuspension { entries[task]?.owesSuspension = true }
    return request(task) + flushed()
  }

  /// An event of the task has arrived: the service needs to be told nothing about it.
  mutating func eventArrived(of task: Int) -> [Action] {
    entries[task]?.phase = .over
    return flushed()
  }

  /// The task has ended for the app.
  mutating func remove(_ task: Int) -> [Action] {
    entries[task] = nil
    return flushed()
  }

  mutating func flush() -> [Action] {
    isFlushWanted = true
    return flushed()
  }

  // MARK: What the connection does

  mutating func detached() {
    line = .detached
    batch = []
    queue = []
    cancellations = GatheredCancellations()
    for (task, entry) in entries {
      switch entry.phase {
      case .creating: entries[task]?.phase = .queued
      // A request that was not answered may have been carried out: only the next connection shows it.
      case .queued, .queuedAlone, .created, .awaiting, .over: break
      }
    }
  }

  /// - Parameter known: every task of the session that the service has.
  mutating func attached(_ known: [Int: KnownTask]) -> [Action] {
    line = .attached
    queue = []
    batch = []
    cancellations = GatheredCancellations()
    for (task, entry) in entries.sorted(by: { $0.key < $1.key }) {
      if let state = known[task] {
        entries[task]?.phase = state.isOver ? .over : .created(state)
        if state.isSuspended { entries[task]?.owesSuspension = false }
        continue
      }
      entries[task]?.owesSuspension = false
      switch entry.phase {
      case .over: break
      case .queuedAlone: queue.append(task)
      // A task whose creation was never confirmed may or may not be there; the service knows it by its token.
      case .queued, .creating, .created, .awaiting:
        entries[task]?.phase = .queued
        queue.append(task)
      }
    }
    return requests()
  }

  /// The service delivers what it has; it may be given more.
  mutating func deliveryStarted() -> [Action] {
    guard case .attached = line else { return [] }
    line = .open
    return creation() + flushed()
  }

  mutating func pauseEnded() -> [Action] {
    guard case .paused = line else { return [] }
    line = .open
    return requests() + creation() + flushed()
  }

  /// Some tasks of the creation are not in its message: their files can't be opened now.
  mutating func leftOut(_ tasks: [Int]) {
    let left = Set(tasks)
    let creating = batch.filter { left.contains($0) && entries[$0] != nil }
    batch.removeAll { left.contains($0) }
    requeue(creating, as: .queued)
  }

  mutating func creationEnded(_ outcome: Outcome) -> [Action] {
    guard line != .detached, !batch.isEmpty, outcome != .unanswered else { return [] }
    let tasks = batch
    batch = []
    switch outcome {
    case .accepted: return created(tasks)
    case .unanswered: return []
    case .refusedForNow:
      requeue(tasks, as: .queued)
      line = .paused
      return [.pause]
    case .refused(let sentence):
      if tasks.count > 1 {
        // One bad task must not take the others with it.
        requeue(tasks, as: .queuedAlone)
        return creation()
      }
      let failures = tasks.map { Action.fail(task: $0, sentence: sentence) }
      for task in tasks { entries[task] = nil }
      return failures + creation() + flushed()
    }
  }

  mutating func requestEnded(_ request: Request, task: Int, _ outcome: Outcome) -> [Action] {
    guard line != .detached, outcome != .unanswered, case .awaiting(request, var known) = entries[task]?.phase else {
      return []
    }
    guard outcome != .refusedForNow else {
      entries[task]?.phase = .created(known)
      guard line != .paused else { return [] }
      line = .paused
      return [.pause]
    }
    // A request that is refused for good is not sent again.
    switch request {
    case .suspend:
      known.isSuspended = true
      entries[task]?.owesSuspension = false
    case .resume:
      known.isSuspended = false
      entries[task]?.owesSuspension = false
    case .update(_, let hints): known.hints = hints
    case .edit(let edit): if entries[task]?.wanted.edit == edit { entries[task]?.wanted.edit = nil }
    case .cancel: known.isOver = true
    }
    entries[task]?.phase = known.isOver ? .over : .created(known)
    return self.request(task) + flushed()
  }

  // MARK: Cancelling many tasks

  /// A moment has passed since `gatherCancellations`.
  mutating func cancellationsGathered() -> [Action] {
    guard line != .detached else { return [] }
    guard line != .paused else {
      for task in cancellations.takeAll() { tellAgain(task) }
      return []
    }
    // Some have ended meanwhile.
    let wanted = cancellations.takeAll().filter { isAwaitingCancellation($0) }
    return cancellations.groups(of: wanted).map { group in
      guard group.count == 1, let task = group.first else { return .cancel(group) }
      return .send(.cancel(producingResumePoint: false), task: task)
    }
  }

  /// The answer to a message that cancels many tasks has come.
  mutating func cancellationEnded(_ tasks: [Int], _ outcome: Outcome) -> [Action] {
    guard line != .detached, outcome != .unanswered else { return [] }
    cancellations.groupEnded()
    if case .refused = outcome {
      // A service of an earlier version cancels one task at a time.
      cancellations.areTaken = false
      for task in tasks where isAwaitingCancellation(task) { tellAgain(task) }
      return tasks.flatMap { request($0) } + cancellationsGathered()
    }
    return tasks.flatMap { requestEnded(.cancel(producingResumePoint: false), task: $0, outcome) }
      + cancellationsGathered()
  }

  private func isAwaitingCancellation(_ task: Int) -> Bool {
    guard case .awaiting(.cancel(producingResumePoint: false), _) = entries[task]?.phase else { return false }
    return true
  }

  private mutating func tellAgain(_ task: Int) {
    guard case .awaiting(_, let known) = entries[task]?.phase else { return }
    entries[task]?.phase = .created(known)
  }

  // MARK: Deciding

  private mutating func created(_ tasks: [Int]) -> [Action] {
    var actions: [Action] = []
    for task in tasks {
      guard case .creating(let told) = entries[task]?.phase else { continue }
      entries[task]?.phase = .created(KnownTask(isSuspended: told.isSuspended, hints: told.hints))
      // The app may have changed the task while the message was under way.
      actions += request(task)
    }
    return actions + creation() + flushed()
  }

  private mutating func requeue(_ tasks: [Int], as phase: Phase) {
    for task in tasks where entries[task] != nil { entries[task]?.phase = phase }
    queue.insert(contentsOf: tasks, at: 0)
  }

  /// The next tasks that fit into one message, at least one.
  private mutating func creation() -> [Action] {
    guard case .open = line, batch.isEmpty else { return [] }
    var taken = 0
    var weight = 0
    var files = 0
    var creations: [Creation] = []
    scan: for task in queue.prefix(maximumCount) {
      guard let entry = entries[task] else {
        taken += 1
        continue
      }
      switch entry.phase {
      case .creating, .created, .awaiting, .over: break
      case .queuedAlone:
        guard creations.isEmpty else { break scan }
        creations = [Creation(task: task, wanted: entry.wanted)]
        taken += 1
        break scan
      case .queued:
        weight += entry.weight
        if entry.hasFile { files += 1 }
        guard weight <= maximumWeight || creations.isEmpty, files <= maximumFiles else { break scan }
        creations.append(Creation(task: task, wanted: entry.wanted))
      }
      taken += 1
    }
    queue.removeFirst(taken)
    guard !creations.isEmpty else { return queue.isEmpty ? [] : creation() }
    for creation in creations { entries[creation.task]?.phase = .creating(creation.wanted) }
    batch = creations.map(\.task)
    return [.create(creations)]
  }

  private mutating func requests() -> [Action] { entries.keys.sorted().flatMap { request($0) } }

  /// Tells the service how the app wants the task, where it knows it otherwise.
  private mutating func request(_ task: Int) -> [Action] {
    switch line {
    case .detached, .paused: return []
    case .attached, .open: break
    }
    guard let entry = entries[task], case .created(let known) = entry.phase,
      let request = Outbox.request(entry, known: known)
    else { return [] }
    entries[task]?.phase = .awaiting(request, known)
    guard request == .cancel(producingResumePoint: false), cancellations.areTaken else {
      return [.send(request, task: task)]
    }
    return cancellations.add(task) ? [.gatherCancellations] : []
  }

  private static func request(_ entry: Entry, known: KnownTask) -> Request? {
    let wanted = entry.wanted
    switch wanted.cancellation {
    case .plain: return .cancel(producingResumePoint: false)
    case .producingResumePoint: return .cancel(producingResumePoint: true)
    case .none: break
    }
    if let edit = wanted.edit { return .edit(edit) }
    if wanted.hints != known.hints { return .update(from: known.hints, to: wanted.hints) }
    if wanted.isSuspended != known.isSuspended { return wanted.isSuspended ? .suspend : .resume }
    return entry.owesSuspension && !known.isSuspended ? .suspend : nil
  }

  /// A change that the service was not told counts as well: there may be no connection at the moment. A cancellation is
  /// not waited for: it is answered once the transfer has stopped.
  private mutating func flushed() -> [Action] {
    guard isFlushWanted, line != .paused else { return [] }
    for entry in entries.values {
      switch entry.phase {
      case .queued, .queuedAlone, .creating: return []
      case .awaiting(.cancel, _), .over: continue
      case .created(let known):
        let isTold = entry.wanted.cancellation != .none || Outbox.request(entry, known: known) == nil
        guard isTold else { return [] }
      case .awaiting: return []
      }
    }
    isFlushWanted = false
    return [.flushed]
  }
}
