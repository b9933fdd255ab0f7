import Testing

@testable import URLLoadingSystem

@Suite struct OutboxTests {
  static func wanted(
    suspended: Bool = false, _ description: String? = nil, cancel: WantedTask.Cancellation = .none
  ) -> WantedTask {
    WantedTask(
      isSuspended: suspended, hints: TaskHints(taskDescription: description, priority: 0.5), cancellation: cancel)
  }

  static func known(suspended: Bool = false, _ description: String? = nil, over: Bool = false) -> KnownTask {
    KnownTask(
      isSuspended: suspended, hints: TaskHints(taskDescription: description, priority: 0.5), isOver: over)
  }

  /// Attached to a service that has no tasks.
  private func open(count: Int = 3, weight: Int = 100) -> Outbox {
    var outbox = Outbox(maximumCount: count, maximumWeight: weight)
    #expect(outbox.attached([:]).isEmpty && outbox.deliveryStarted().isEmpty)
    return outbox
  }

  /// With task 1, which the service has.
  private func withTask(_ wanted: WantedTask = wanted()) -> Outbox {
    var outbox = open()
    #expect(outbox.add(1, wanted, weight: 1) == [.create([.init(task: 1, wanted: wanted)])])
    #expect(outbox.creationEnded(.accepted).isEmpty)
    return outbox
  }

  private func created(_ actions: [Outbox.Action]) -> [Int] {
    var tasks: [Int] = []
    for case .create(let creations) in actions { tasks += creations.map(\.task) }
    return tasks
  }

  // MARK: Tasks that were set aside

  /// The app resumes it before the service is told that it is suspended, or while it is told.
  @Test(arguments: [false, true]) func aSuspensionThatIsToldComesBeforeTheResumption(isResumedAtOnce: Bool) {
    var outbox = withTask()
    // Nothing is told of a suspension and a resumption in one turn.
    #expect(outbox.change(1, Self.wanted()).isEmpty)
    let first = outbox.change(1, Self.wanted(suspended: !isResumedAtOnce), tellsSuspension: true)
    #expect(first == [.send(.suspend, task: 1)])
    #expect(outbox.change(1, Self.wanted()).isEmpty && outbox.flush().isEmpty)
    #expect(outbox.requestEnded(.suspend, task: 1, .accepted) == [.send(.resume, task: 1)])
    #expect(outbox.requestEnded(.resume, task: 1, .accepted) == [.flushed])
    #expect(outbox.change(1, Self.wanted()).isEmpty, "once")
  }

  /// The next connection shows that the service was not told.
  @Test func aSuspensionThatIsToldOutlivesTheConnection() {
    var outbox = withTask()
    #expect(outbox.change(1, Self.wanted(), tellsSuspension: true) == [.send(.suspend, task: 1)])
    outbox.detached()
    #expect(outbox.attached([1: Self.known()]) == [.send(.suspend, task: 1)])
    outbox.detached()
    #expect(outbox.attached([1: Self.known(suspended: true)]) == [.send(.resume, task: 1)])
    #expect(outbox.requestEnded(.resume, task: 1, .accepted).isEmpty)
    // A service that has lost its queue has set nothing aside.
    #expect(outbox.change(1, Self.wanted(), tellsSuspension: true) == [.send(.suspend, task: 1)])
    outbox.detached()
    #expect(outbox.attached([:]).isEmpty)
    #expect(created(outbox.deliveryStarted()) == [1])
    #expect(outbox.creationEnded(.accepted).isEmpty)
  }

  // MARK: Creating

  @Test func tasksAreCreatedInBatchesOneAtATime() {
    var outbox = open()
    #expect(created(outbox.add(1, Self.wanted(), weight: 1)) == [1])
    for task in 2...6 { #expect(outbox.add(task, Self.wanted(), weight: 1).isEmpty) }
    #expect(created(outbox.creationEnded(.accepted)) == [2, 3, 4])
    #expect(created(outbox.creationEnded(.accepted)) == [5, 6])
    #expect(outbox.creationEnded(.accepted).isEmpty && outbox.hasCreated)
  }

  @Test func aBatchFitsIntoOneMessageAndHasOneTaskAtLeast() {
    var outbox = open()
    _ = outbox.add(1, Self.wanted(), weight: 1_000)
    for (task, weight) in [(2, 60), (3, 60), (4, 1_000), (5, 40)] {
      _ = outbox.add(task, Self.wanted(), weight: weight)
    }
    var batches: [[Int]] = []
    for _ in 0..<4 { batches.append(created(outbox.creationEnded(.accepted))) }
    #expect(batches == [[2], [3], [4], [5]])
  }

  @Test func aBatchHasNoMoreFilesThanOneMessageMayBring() {
    var outbox = Outbox(maximumCount: 10, maximumWeight: 100, maximumFiles: 2)
    _ = outbox.attached([:])
    #expect(created(outbox.deliveryStarted()).isEmpty)
    #expect(created(outbox.add(1, Self.wanted(), weight: 1, hasFile: true)) == [1])
    for task in 2...7 { _ = outbox.add(task, Self.wanted(), weight: 1, hasFile: task != 3) }
    #expect(created(outbox.creationEnded(.accepted)) == [2, 3, 4])
    #expect(created(outbox.creationEnded(.accepted)) == [5, 6])
    #expect(created(outbox.creationEnded(.accepted)) == [7])
  }

  /// The app has too many open files for them.
  @Test func tasksThatAreLeftOutOfAMessageComeNext() {
    var outbox = open(count: 4)
    _ = outbox.add(1, Self.wanted(), weight: 1)
    for task in 2...6 { _ = outbox.add(task, Self.wanted(), weight: 1, hasFile: true) }
    #expect(created(outbox.creationEnded(.accepted)) == [2, 3, 4, 5])
    outbox.leftOut([4, 5])
    #expect(created(outbox.creationEnded(.accepted)) == [4, 5, 6])
    #expect(outbox.creationEnded(.accepted).isEmpty)
  }

  @Test func nothingIsSentWithoutAConnection() {
    var outbox = Outbox(maximumCount: 3, maximumWeight: 100)
    #expect(outbox.add(1, Self.wanted(), weight: 1).isEmpty)
    #expect(outbox.change(1, Self.wanted("new")).isEmpty)
    #expect(outbox.attached([:]).isEmpty)
    #expect(outbox.deliveryStarted() == [.create([.init(task: 1, wanted: Self.wanted("new"))])])
  }

  @Test func oneBadTaskDoesNotTakeTheOthersWithIt() {
    var outbox = open()
    for task in 1...4 { _ = outbox.add(task, Self.wanted(), weight: 1) }
    #expect(created(outbox.creationEnded(.accepted)) == [2, 3, 4])
    #expect(created(outbox.creationEnded(.refused("too large"))) == [2])
    #expect(created(outbox.creationEnded(.accepted)) == [3])
    let actions = outbox.creationEnded(.refused("too large"))
    #expect(actions.first == .fail(task: 3, sentence: "too large") && created(actions) == [4])
    #expect(outbox.creationEnded(.accepted).isEmpty)
  }

  @Test func aFullDiskIsWaitedFor() {
    var outbox = open()
    _ = outbox.add(1, Self.wanted(), weight: 1)
    #expect(outbox.creationEnded(.refusedForNow) == [.pause])
    #expect(outbox.add(2, Self.wanted(), weight: 1).isEmpty)
    #expect(created(outbox.pauseEnded()) == [1, 2])
    #expect(outbox.pauseEnded().isEmpty)
  }

  @Test func whatWasNotConfirmedIsCreatedAgain() {
    var outbox = open()
    for task in 1...3 { _ = outbox.add(task, Self.wanted(), weight: 1) }
    outbox.detached()
    #expect(outbox.creationEnded(.accepted).isEmpty, "an answer over an earlier connection")
    // It had the first one after all.
    #expect(outbox.attached([1: Self.known()]).isEmpty)
    #expect(created(outbox.deliveryStarted()) == [2, 3])
  }

  @Test func aTaskThatTheServiceHasLostIsCreatedAgain() {
    var outbox = withTask()
    outbox.detached()
    #expect(outbox.attached([:]).isEmpty)
    #expect(created(outbox.deliveryStarted()) == [1])
  }

  @Test func aTaskWhoseEventsHaveArrivedIsNot() {
    var outbox = withTask()
    _ = outbox.eventArrived(of: 1)
    #expect(outbox.change(1, Self.wanted(suspended: true)).isEmpty)
    outbox.detached()
    #expect(outbox.attached([:]).isEmpty && outbox.deliveryStarted().isEmpty)
  }

  // MARK: Telling

  static let changes: [(wanted: WantedTask, request: Outbox.Request)] = [
    (wanted(suspended: true), .suspend),
    (wanted("a"), .update(from: TaskHints(priority: 0.5), to: TaskHints(taskDescription: "a", priority: 0.5))),
    (
      WantedTask(isSuspended: false, hints: TaskHints(priority: 0.5, earliestBeginDate: .distantFuture)),
      .update(from: TaskHints(priority: 0.5), to: TaskHints(priority: 0.5, earliestBeginDate: .distantFuture))
    ),
    (wanted(cancel: .plain), .cancel(producingResumePoint: false)),
    (wanted(suspended: true, "a", cancel: .producingResumePoint), .cancel(producingResumePoint: true)),
  ]

  @Test(arguments: changes.indices) func theServiceIsToldOfAChangeOnce(_ index: Int) {
    let (wanted, request) = Self.changes[index]
    var outbox = withTask()
    var told = outbox.change(1, wanted)
    if told == [.gatherCancellations] { told = outbox.cancellationsGathered() }
    #expect(told == [.send(request, task: 1)])
    #expect(outbox.change(1, wanted).isEmpty)
    #expect(outbox.requestEnded(request, task: 1, .accepted).isEmpty)
    #expect(outbox.change(1, wanted).isEmpty)
  }

  @Test func whatChangesWhileARequestIsUnderWayIsToldAfterIt() {
    var outbox = withTask()
    #expect(outbox.change(1, Self.wanted(suspended: true)) == [.send(.suspend, task: 1)])
    #expect(outbox.change(1, Self.wanted()).isEmpty)
    #expect(outbox.requestEnded(.suspend, task: 1, .accepted) == [.send(.resume, task: 1)])
  }

  @Test func whatChangesWhileATaskIsCreatedIsToldAfterIt() {
    var outbox = open()
    _ = outbox.add(1, Self.wanted(), weight: 1)
    _ = outbox.change(1, Self.wanted(cancel: .plain))
    #expect(outbox.creationEnded(.accepted) == [.gatherCancellations])
    #expect(outbox.cancellationsGathered() == [.send(.cancel(producingResumePoint: false), task: 1)])
  }

  @Test func pendingRequestsAreSentAgainOverTheNextConnection() {
    var outbox = withTask()
    _ = outbox.change(1, Self.wanted(suspended: true))
    outbox.detached()
    #expect(outbox.requestEnded(.suspend, task: 1, .accepted).isEmpty)
    #expect(outbox.attached([1: Self.known()]) == [.send(.suspend, task: 1)])
    outbox.detached()
    #expect(outbox.attached([1: Self.known(suspended: true)]).isEmpty)
    #expect(outbox.change(1, Self.wanted()) == [.send(.resume, task: 1)])
  }

  @Test func aTaskThatIsOverIsToldNothing() {
    var outbox = withTask()
    outbox.detached()
    _ = outbox.change(1, Self.wanted(cancel: .plain))
    #expect(outbox.attached([1: Self.known(over: true)]).isEmpty)
  }

  @Test func aRequestThatTheDiskRefusedIsSentAfterAPause() {
    var outbox = withTask()
    _ = outbox.change(1, Self.wanted(suspended: true))
    #expect(outbox.requestEnded(.suspend, task: 1, .refusedForNow) == [.pause])
    #expect(outbox.pauseEnded() == [.send(.suspend, task: 1)])
  }

  @Test func aRequestThatIsRefusedForGoodIsNotSentAgain() {
    var outbox = withTask()
    _ = outbox.change(1, Self.wanted(suspended: true))
    #expect(outbox.requestEnded(.suspend, task: 1, .refused("no")).isEmpty)
    #expect(outbox.change(1, Self.wanted(suspended: true)).isEmpty)
  }

  // MARK: Flushing

  @Test func aFlushEndsWhenTheServiceHasEverything() {
    var outbox = Outbox(maximumCount: 3, maximumWeight: 100)
    #expect(outbox.flush() == [.flushed])
    _ = outbox.add(1, Self.wanted(), weight: 1)
    #expect(outbox.flush().isEmpty)
    _ = outbox.attached([:])
    #expect(created(outbox.deliveryStarted()) == [1])
    #expect(outbox.creationEnded(.accepted) == [.flushed])
    _ = outbox.change(1, Self.wanted("a"))
    #expect(outbox.flush().isEmpty)
    let request = Self.changes[1].request
    #expect(outbox.requestEnded(request, task: 1, .accepted) == [.flushed])
    // A cancellation is answered late.
    _ = outbox.change(1, Self.wanted("a", cancel: .plain))
    #expect(outbox.flush() == [.flushed])
  }

  @Test func aFlushWaitsForAPause() {
    var outbox = withTask()
    _ = outbox.change(1, Self.wanted(suspended: true))
    #expect(outbox.flush().isEmpty)
    #expect(outbox.requestEnded(.suspend, task: 1, .refusedForNow) == [.pause])
    #expect(outbox.pauseEnded() == [.send(.suspend, task: 1)])
    #expect(outbox.requestEnded(.suspend, task: 1, .accepted) == [.flushed])
  }

  @Test func aFlushWaitsForAChangeThatWasMadeWithoutAConnection() {
    var outbox = withTask(Self.wanted(suspended: true))
    outbox.detached()
    #expect(outbox.flush() == [.flushed])
    #expect(outbox.change(1, Self.wanted()).isEmpty)
    #expect(outbox.flush().isEmpty)
    #expect(outbox.attached([1: Self.known(suspended: true)]) == [.send(.resume, task: 1)])
    #expect(outbox.deliveryStarted().isEmpty)
    #expect(outbox.requestEnded(.resume, task: 1, .accepted) == [.flushed])
  }

  /// The service may have suspended the task before the connection ended.
  @Test func aFlushWaitsForTheOutcomeOfARequestThatWasNotAnswered() {
    var outbox = withTask()
    _ = outbox.change(1, Self.wanted(suspended: true))
    outbox.detached()
    #expect(outbox.change(1, Self.wanted()).isEmpty)
    #expect(outbox.flush().isEmpty)
    #expect(outbox.attached([1: Self.known(suspended: true)]) == [.send(.resume, task: 1)])
    #expect(outbox.requestEnded(.resume, task: 1, .accepted) == [.flushed])
    _ = outbox.change(1, Self.wanted("a", cancel: .plain))
    outbox.detached()
    #expect(outbox.flush() == [.flushed], "a cancellation is not waited for")
  }

  @Test func aTaskThatEndsInTheAppIsForgotten() {
    var outbox = open()
    for task in 1...3 { _ = outbox.add(task, Self.wanted(), weight: 1) }
    #expect(outbox.flush().isEmpty)
    #expect(outbox.remove(2).isEmpty)
    #expect(created(outbox.creationEnded(.accepted)) == [3])
    #expect(outbox.remove(3) == [.flushed])
  }
}
