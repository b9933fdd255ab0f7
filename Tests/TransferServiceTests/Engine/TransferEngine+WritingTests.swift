import Dispatch
import Foundation
import GRDB
import HTTPSemantics
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Changes of the queue while the disk keeps them waiting.
@Suite struct TransferEngineWritingTests {
  /// A request that changes the queue of the scene.
  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let request: ClientRequest
    /// Whether the queue has the change.
    let isDone: @Sendable (TransferStore) throws -> Bool

    init(_ name: String, _ request: ClientRequest, isDone: @escaping @Sendable (TransferStore) throws -> Bool) {
      (testDescription, self.request, self.isDone) = (name, request, isDone)
    }
  }

  private static func tasks(_ task: Int) -> TaskSelection { TaskSelection(session: "s", taskIdentifiers: [task]) }

  private static func priority(_ task: Int) -> ClientRequest {
    var update = UpdateTask(session: "s", taskIdentifier: task)
    update.priority = 0.875
    return .updateTask(update)
  }

  private static func url(_ id: Int64, _ url: String) -> ClientRequest {
    var edit = EditTransfer(transfer: id)
    edit.url = url
    return .editTransfer(edit)
  }

  private static func limit(_ subject: LimitTransfers.Subject) -> ClientRequest {
    .limit(LimitTransfers(subject: subject, limit: BandwidthLimit(bytesPerSecond: 2_000)))
  }

  /// Changes of rows of transfers.
  static let ofTransfers = [
    Change("suspend", .suspendTasks(tasks(1))) { try $0.transfer(1)?.head.state == .suspended },
    Change("resume", .resumeTasks(tasks(2))) { try $0.transfer(2)?.head.state == .active },
    Change("update", priority(1)) { try $0.transfer(1)?.description.priority == 0.875 },
    Change("hold", .holdTransfer(TransferReference(transfer: 1))) { try $0.transfer(1)?.head.isHeld == true },
    Change("release", .releaseTransfer(TransferReference(transfer: 3))) { try $0.transfer(3)?.head.isHeld == false },
    Change("edit", url(1, "http://h/new")) { try $0.transfer(1)?.description.request.url == "http://h/new" },
    Change("limit a transfer", limit(.transfer(1))) { try $0.limitsBesidesSessions()[.transfer(1)] != nil },
  ]

  static let all =
    ofTransfers + [
      Change("limit a session", limit(.session("s"))) { try !$0.limits(ofSession: 1).isEmpty },
      Change("limit an app", limit(.app)) { try $0.limitsBesidesSessions()[.app(1)] != nil },
      Change("create", .createTasks(CreateTasks(session: "s", tasks: [.download("http://h/5", task: 5)]))) {
        try $0.transfer(5) != nil
      },
      Change("cancel", .cancelTask(CancelTask(session: "s", taskIdentifier: 2))) {
        try $0.transfer(2)?.head.state == .completed
      },
      Change("acknowledge", .acknowledge(Acknowledge(session: "s", sequences: [1]))) {
        try $0.eventCount(of: 1) == 0
      },
      Change("attach", .attach(Attach(session: "t"))) { try $0.session("t", of: 1) != nil },
      Change("invalidate", .invalidate(SessionReference(session: "s"))) { try $0.unfinishedHeads().isEmpty },
    ]

  /// An app and the tasks of its session: one runs, one is suspended, one is held by the user, and one is over. And another
  /// app.
  private func withScene(
    _ body: (EngineFixture, ScriptedRunner, _ app: FakeClient, _ other: FakeClient) async throws -> Void
  ) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let (app, other) = (fixture.client(), fixture.client("/other"))
      try await app.begin()
      let created = try await app.create([
        .download("http://h/1"), .download("http://h/2", task: 2, running: false), .download("http://h/3", task: 3),
        .download("http://h/4", task: 4),
      ])
      try #require(created == [1, 2, 3, 4])
      try await app.ask(.holdTransfer(TransferReference(transfer: 3)))
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 4)))
      #expect(try await app.nextEvent().sequence == 1)
      try await other.begin("o")
      await fixture.settle()
      #expect(runner.running == [1])
      try await body(fixture, runner, app, other)
    }
  }

  /// What was sent to the engine before is handled when this returns.
  private func expectService(_ other: FakeClient) async throws {
    guard case .transfers = try await other.ask(.listTransfers(ListTransfers())) else {
      Issue.record("the other app is not served")
      return
    }
  }

  private func status(_ id: Int64, _ client: FakeClient) async throws -> TransferStatus {
    guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
      throw CocoaError(.fileReadUnknown)
    }
    return shown.status
  }

  // MARK: Connections that end

  /// The process lives, and connects anew: what its former connection has asked for comes first.
  @Test func aSessionIsHandedOverOnceItsEndedConnectionIsDone() async throws {
    try await withScene { fixture, _, _, other in
      let process = EngineFixture.ourselves
      let (former, next) = (fixture.client("/third", process: process), fixture.client("/third", process: process))
      try await former.begin("u")
      #expect(try await former.create([.download("http://h/u", task: 1)], session: "u").count == 1)
      try await next.greet()
      let (suspended, attached) = try await fixture.holdingQueue {
        let suspended = former.tell(.suspendTasks(TaskSelection(session: "u", taskIdentifiers: [1])))
        former.disconnect()
        let attached = next.tell(.attach(Attach(session: "u")))
        try await expectService(other)
        #expect(next.reply(to: attached) == nil)
        return (suspended, attached)
      }
      guard case .attached(let page) = try await next.awaitReply(to: attached) else {
        Issue.record("\(String(describing: next.reply(to: attached)))")
        return
      }
      #expect(page.page.tasks.map(\.status.state) == [.suspended])
      guard case .done = try await former.awaitReply(to: suspended) else {
        Issue.record("not suspended")
        return
      }
    }
  }

  /// A client that hears nothing gives the connection up.
  @Test func aSignOfLifeComesWhileTheDiskKeepsAConnectionWaiting() async throws {
    try await withScene { fixture, _, app, _ in
      try await fixture.holdingQueue {
        app.tell(Self.priority(1))
        guard case .version = try await app.ask(.version) else {
          Issue.record("no sign of life")
          return
        }
      }
    }
  }

  /// The supervisor asks a service only while it is busy. One that hangs right after its answer has tasks that wait.
  @Test(arguments: [true, false]) func theServiceIsBusyBeforeAnAppIsAnswered(startsTask: Bool) async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let (app, other) = (fixture.client(), fixture.client("/other"))
      try await app.begin()
      try await other.begin("o")
      let told = Recorder<Bool>()
      fixture.engine.watchActivity { told.record($0) }
      _ = try await other.ask(.version)
      #expect(told.all == [false])
      let number = try await fixture.holdingQueue {
        let task = TransferDescription.download("http://h/1", running: startsTask)
        let number = app.tell(.createTasks(CreateTasks(session: "s", tasks: [task])))
        try await expectService(other)
        #expect(told.all == [false, true])
        return number
      }
      _ = try await app.awaitReply(to: number)
      try await expectService(other)
      #expect(told.all == (startsTask ? [false, true] : [false, true, false]))
    }
  }

  // MARK: Each request

  @Test(arguments: all) func othersAreServedMeanwhileAndTheAnswerFollowsTheDisk(change: Change) async throws {
    try await withScene { fixture, _, app, other in
      let number = try await fixture.holdingQueue {
        let number = app.tell(change.request)
        try await expectService(other)
        #expect(app.reply(to: number) == nil)
        #expect(try change.isDone(fixture.store) == false)
        return number
      }
      let reply = try await app.awaitReply(to: number)
      #expect(try change.isDone(fixture.store), "the answer is sent when the change is on the disk")
      if case .refused(let refusal) = reply { Issue.record("refused: \(refusal.message)") }
    }
  }

  @Test(arguments: ofTransfers) func aChangeThatCanNotBeWrittenChangesNothing(change: Change) async throws {
    try await withScene { fixture, runner, app, _ in
      try fixture.store.database.write {
        try $0.execute(
          sql: "CREATE TRIGGER broken BEFORE UPDATE ON transfers BEGIN SELECT RAISE(ABORT, 'a broken disk'); END")
      }
      var before: [TransferStatus] = []
      for id: Int64 in 1...3 { before.append(try await status(id, app)) }
      #expect(try await app.refusal(change.request) == .storage)
      await fixture.settle()
      for id: Int64 in 1...3 {
        let (after, before) = (try await status(id, app), before[Int(id) - 1])
        #expect(after.state == before.state && after.waiting?.code == before.waiting?.code)
        #expect(after.url == before.url && after.limits == before.limits)
      }
      #expect(try change.isDone(fixture.store) == false)
      #expect(runner.running == [1])
      try fixture.store.database.write { try $0.execute(sql: "DROP TRIGGER broken") }
      #expect(try await app.refusal(change.request) == nil)
      #expect(try change.isDone(fixture.store))
    }
  }

  private static func ofTransfers(_ names: [String]) -> [Change] {
    ofTransfers.filter { names.contains($0.testDescription) }
  }

  private func expectRefusal(of change: Change, _ reply: ServiceReply, _ store: TransferStore) throws {
    if case .refused(let refusal) = reply {
      #expect([.unknownTask, .invalidRequest].contains(refusal.reason))
    } else {
      Issue.record("\(reply)")
    }
    #expect(try change.isDone(store) == false)
  }

  /// Its end is handed to the disk before the change.
  @Test(arguments: ofTransfers(["update", "hold", "edit", "limit a transfer"]))
  func aChangeOfATransferThatEndsMeanwhileIsRefused(change: Change) async throws {
    try await withScene { fixture, runner, app, other in
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1005, message: "Lost.")
      let number = try await fixture.holdingQueue {
        runner.end(1, .failed(failure, nil, received: 0))
        // Ends are gathered while requests wait.
        try await eventually("the end to be handed over") {
          fixture.engine.queue.sync { fixture.engine.gatheredEnds.isWriting }
        }
        let number = app.tell(change.request)
        try await expectService(other)
        return number
      }
      try expectRefusal(of: change, try await app.awaitReply(to: number), fixture.store)
    }
  }

  @Test(arguments: ofTransfers(["hold", "edit", "limit a transfer"]))
  func aChangeOfATransferThatGoesWithItsSessionIsRefused(change: Change) async throws {
    try await withScene { fixture, _, app, other in
      let person = fixture.client()
      try await person.greet()
      let number = try await fixture.holdingQueue {
        app.tell(.invalidate(SessionReference(session: "s")))
        let number = person.tell(change.request)
        try await expectService(other)
        return number
      }
      try expectRefusal(of: change, try await person.awaitReply(to: number), fixture.store)
    }
  }

  @Test func theFirstRequestOfANewAppWaitsForTheDisk() async throws {
    try await withScene { fixture, _, _, other in
      let new = fixture.client("/new")
      try await new.greet()
      let numbers = try await fixture.holdingQueue {
        let numbers = [new.tell(.listTransfers(ListTransfers())), new.tell(.attach(Attach(session: "n")))]
        try await expectService(other)
        #expect(numbers.allSatisfy { new.reply(to: $0) == nil })
        return numbers
      }
      guard case .transfers = try await new.awaitReply(to: numbers[0]),
        case .attached = try await new.awaitReply(to: numbers[1])
      else {
        Issue.record("refused")
        return
      }
    }
  }

  /// The file is on the disk when the app is told of it.
  @Test func othersAreServedWhileAResumePointIsMade() async throws {
    try await withScene { fixture, _, app, other in
      let response = ResponseSummary(url: "http://h/1", status: 200)
      try fixture.store.commit(
        offset: 4, representation: .init(response: response, validator: .init(entityTag: "\"x\""), expectedTotal: 9),
        of: 1)
      try fixture.folder.leaveFile("partial/1")
      try Data("part".utf8).write(to: URL(fileURLWithPath: fixture.files.partial(1)))
      let cancel = CancelTask(session: "s", taskIdentifier: 1, producingResumePoint: true)
      let number = try await fixture.disk.holding(.syncDirectory, path: "delivery") { isHeld in
        let number = app.tell(.cancelTask(cancel))
        try await eventually("the file to wait for the disk") { isHeld() }
        try await expectService(other)
        #expect(app.reply(to: number) == nil)
        return number
      }
      guard case .cancelled(let cancelled) = try await app.awaitReply(to: number) else {
        Issue.record("refused")
        return
      }
      #expect(cancelled.resumePoint?.offset == 4 && cancelled.resumePoint?.expectedTotal == 9)
      #expect(FileManager.default.fileExists(atPath: cancelled.resumePoint?.path ?? ""))
    }
  }

  // MARK: Order

  @Test func theRequestsOfAConnectionAreCarriedOutInTheirOrder() async throws {
    try await withScene { fixture, _, app, other in
      let numbers = try await fixture.holdingQueue {
        let numbers = [
          app.tell(.createTasks(CreateTasks(session: "s", tasks: [.download("http://h/5", task: 5)]))),
          app.tell(Self.priority(5)), app.tell(.suspendTasks(Self.tasks(5))),
          app.tell(.showTransfer(TransferReference(transfer: 5))),
          app.tell(.cancelTask(CancelTask(session: "s", taskIdentifier: 5))),
        ]
        try await expectService(other)
        #expect(numbers.allSatisfy { app.reply(to: $0) == nil })
        return numbers
      }
      _ = try await app.awaitReply(to: numbers[4])
      let answered = app.messages.all.compactMap { message -> UInt64? in
        if case .reply(let number, _) = message, numbers.contains(number) { number } else { nil }
      }
      #expect(answered == numbers)
      guard case .transfer(let shown) = app.reply(to: numbers[3]) else {
        Issue.record("not shown")
        return
      }
      #expect(shown.description.priority == 0.875 && shown.status.state == .suspended)
      let event = try await app.nextEvent()
      #expect(event.taskIdentifier == 5 && event.completion?.failure?.code == URLError.Code.cancelled.rawValue)
    }
  }

  /// Each of the two writes the whole description.
  @Test(arguments: [false, true]) func changesOfTwoConnectionsAreBothKept(isReversed: Bool) async throws {
    try await withScene { fixture, _, app, other in
      let person = fixture.client()
      try await person.greet()
      let requests: [(FakeClient, ClientRequest)] = [
        (app, Self.priority(2)), (person, Self.url(2, "http://h/new")),
      ]
      let told = try await fixture.holdingQueue {
        let told = (isReversed ? requests.reversed() : requests).map { ($0.0, $0.0.tell($0.1)) }
        try await expectService(other)
        return told
      }
      for (client, number) in told {
        let reply = try await client.awaitReply(to: number)
        #expect(reply == .done)
      }
      let description = try #require(try fixture.store.transfer(2)).description
      #expect(description.priority == 0.875 && description.request.url == "http://h/new")
    }
  }

  static let ofNewTask = [
    Change("cancel", .cancelTransfer(TransferReference(transfer: 5))) { try $0.transfer(5)?.head.state == .completed },
    Change("hold", .holdTransfer(TransferReference(transfer: 5))) { try $0.transfer(5)?.head.isHeld == true },
    Change("edit", url(5, "http://h/new")) { try $0.transfer(5)?.description.request.url == "http://h/new" },
    Change("limit a transfer", limit(.transfer(5))) { try $0.limitsBesidesSessions()[.transfer(5)] != nil },
  ]

  /// It is in the queue and in lists while its record is written down a second time.
  @Test(arguments: ofNewTask) func aRequestWaitsForTheTaskThatIsBeingCreated(change: Change) async throws {
    try await withScene { fixture, _, app, other in
      let person = fixture.client()
      try await person.greet()
      let numbers = try await fixture.disk.holding(.sync, path: NewTaskFolder.name) { isHeld in
        let task = TransferDescription.download("http://h/5", task: 5, running: false)
        let created = app.tell(.createTasks(CreateTasks(session: "s", tasks: [task])))
        try await eventually("the record to wait for the disk") { isHeld() }
        #expect(try fixture.store.transfer(5) != nil)
        let changed = person.tell(change.request)
        try await expectService(other)
        #expect(person.reply(to: changed) == nil)
        return (created: created, changed: changed)
      }
      if case .refused(let refusal) = try await person.awaitReply(to: numbers.changed) {
        Issue.record("refused: \(refusal.message)")
      }
      #expect(try change.isDone(fixture.store))
      await fixture.settle()
      // The app is told of the task before it is told of its end.
      let toApp = app.messages.all.drop { message in
        if case .reply(numbers.created, .created) = message { false } else { true }
      }
      let ends = app.events.filter { $0.taskIdentifier == 5 }
      let endsBehind = toApp.count { message in
        if case .push(.event(let event)) = message { event.taskIdentifier == 5 } else { false }
      }
      #expect(!toApp.isEmpty && endsBehind == ends.count)
    }
  }

  /// An app that sends one change after the other keeps no other connection from its own.
  @Test func changesOfASubjectAreMadeInTheOrderInWhichTheyWereAskedFor() async throws {
    try await withScene { fixture, _, app, other in
      let person = fixture.client()
      try await person.greet()
      try await person.watch()
      let numbers = try await fixture.holdingQueue {
        let first = app.tell(Self.priority(2))
        let edit = person.tell(Self.url(2, "http://h/new"))
        let later = (0..<20).map { _ in app.tell(Self.priority(2)) }
        try await expectService(other)
        return (edit: edit, ofApp: [first] + later)
      }
      for number in numbers.ofApp {
        let reply = try await app.awaitReply(to: number)
        #expect(reply == .done)
      }
      let reply = try await person.awaitReply(to: numbers.edit)
      #expect(reply == .done)
      // The watching person is told of each change before it is answered.
      let changes = person.messages.all.prefix { message in
        if case .reply(numbers.edit, _) = message { false } else { true }
      }.count { message in
        if case .push(.transferChanged(let status)) = message { status.transfer == 2 } else { false }
      }
      #expect(changes == 2, "that of the app and its own")
    }
  }

  @Test func limitsOfTwoConnectionsAreBothKept() async throws {
    try await withScene { fixture, _, app, other in
      let person = fixture.client()
      try await person.greet()
      let night = BandwidthLimit(bytesPerSecond: 4_000, hours: DailyHours("22:00-06:00"))
      let told = try await fixture.holdingQueue {
        let told = [
          (app, app.tell(Self.limit(.app))),
          (person, person.tell(.limit(LimitTransfers(subject: .app, limit: night)))),
        ]
        try await expectService(other)
        return told
      }
      for (client, number) in told {
        let reply = try await client.awaitReply(to: number)
        #expect(reply == .done)
      }
      #expect(try fixture.store.limitsBesidesSessions()[.app(1)]?.limits.count == 2)
    }
  }

  @Test func oneOfTwoProcessesGetsASession() async throws {
    try await withScene { fixture, _, _, other in
      let processes = (0..<2).map { _ in fixture.client(process: EngineFixture.ourselves) }
      for process in processes { try await process.greet() }
      let numbers = try await fixture.holdingQueue {
        let numbers = processes.map { $0.tell(.attach(Attach(session: "t"))) }
        try await expectService(other)
        return numbers
      }
      guard case .attached = try await processes[0].awaitReply(to: numbers[0]),
        case .refused(let refusal) = try await processes[1].awaitReply(to: numbers[1])
      else {
        Issue.record("not one of them")
        return
      }
      #expect(refusal.reason == .inUse)
    }
  }

  /// A session without tasks is forgotten with the history, unless a connection holds it.
  @Test func aSessionThatIsBeingAttachedToIsNotForgotten() async throws {
    try await withScene { fixture, _, _, other in
      let first = fixture.client()
      try await first.begin("t")
      first.disconnect()
      await fixture.settle()
      let next = fixture.client()
      try await next.greet()
      let number = try await fixture.holdingQueue {
        let number = next.tell(.attach(Attach(session: "t")))
        fixture.engine.enter { $0.shortenHistory() }
        try await expectService(other)
        return number
      }
      guard case .attached = try await next.awaitReply(to: number) else {
        Issue.record("refused")
        return
      }
      await fixture.settle()
      #expect(try await next.create([.download("http://h/", running: false)], session: "t").count == 1)
    }
  }

  // MARK: Runs and apps

  /// A run that began meanwhile could count bytes of the former resource.
  @Test func aTransferWhoseRequestIsBeingChangedDoesNotBegin() async throws {
    try await withScene { fixture, runner, app, other in
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1005, message: "Lost.")
      runner.end(1, .retry(failure, kept: KeptBytes(0), received: 0))
      await fixture.settle()
      let person = fixture.client()
      try await person.greet()
      let number = try await fixture.holdingQueue {
        let number = app.tell(Self.url(1, "http://other/f"))
        #expect(try await person.ask(.retryTransfer(TransferReference(transfer: 1))) == .done)
        try await expectService(other)
        #expect(runner.running == [])
        return number
      }
      #expect(try await app.awaitReply(to: number) == .done)
      try await eventually("the run") { runner.running == [1] }
      #expect(runner.job(1)?.request.url == "http://other/f")
    }
  }

  /// An app says how often a task may fail. A run that knew of fewer failures would try once more, and one that knew of those
  /// before the last progress would give up too early.
  @Test func aRunKnowsTheFailuresThatAreNotOnTheDiskYet() async throws {
    try await withScene { fixture, runner, app, other in
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1005, message: "Lost.")
      func fail(_ kept: Int64) async throws {
        runner.end(1, .retry(failure, kept: KeptBytes(kept), received: 0))
        #expect(try await app.ask(.retryTransfer(TransferReference(transfer: 1))) == .done)
        try await expectService(other)
      }
      try await fixture.holdingQueue {
        try await fail(0)
        #expect(runner.running == [1] && runner.job(1)?.failures == 1)
        try await fail(0)
        #expect(runner.running == [1] && runner.job(1)?.failures == 2)
        // Progress.
        try await fail(1 << 20)
        #expect(runner.running == [1] && runner.job(1)?.failures == 1)
      }
    }
  }

  /// The start is in the queue first, so that a service that dies over it does not repeat it without end.
  @Test func anAppIsStartedOnceItsStartIsOnTheDisk() async throws {
    try await withScene { fixture, runner, app, other in
      try runner.finish(1, in: fixture)
      await fixture.settle()
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 3)))
      await fixture.settle()
      try await fixture.holdingQueue {
        app.disconnect()
        try await expectService(other)
        #expect(fixture.launcher.launches.count == 0)
      }
      _ = try await fixture.launcher.launches.next()
      #expect(try fixture.store.session(1)?.launches == 1)
    }
  }

  @Test func anAppThatAttachesMeanwhileIsNotStarted() async throws {
    try await withScene { fixture, runner, app, other in
      try runner.finish(1, in: fixture)
      await fixture.settle()
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 3)))
      await fixture.settle()
      let next = fixture.client()
      try await next.greet()
      let number = try await fixture.holdingQueue {
        // The process of the first one is gone, which its connection shows a moment later.
        let number = next.tell(.attach(Attach(session: "s")))
        app.disconnect()
        try await expectService(other)
        return number
      }
      guard case .attached = try await next.awaitReply(to: number) else {
        Issue.record("refused")
        return
      }
      await fixture.settle()
      #expect(fixture.launcher.launches.count == 0)
      #expect(try fixture.store.session(1)?.launches == 0)
    }
  }
}
