import Dispatch
import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// Many ends at a time.
@Suite struct TransferEngineEndsTests {
  private func cancellation(of task: Int) -> ClientRequest {
    .cancelTask(CancelTask(session: "s", taskIdentifier: task))
  }

  /// Creates tasks, cancels them while the engine is busy, and returns the number of commits.
  private func commits(
    cancelling count: Int, _ fixture: EngineFixture, _ app: FakeClient, _ more: () -> Void = {}
  ) async throws -> Int {
    try await app.begin()
    let tasks = (1...count).map { TransferDescription.download("http://h/\($0)", task: $0, running: false) }
    #expect(try await app.create(tasks).count == count)
    return try await CommitCounter.count(of: fixture.store) {
      fixture.engine.queue.suspend()
      for task in 1...count { app.tell(cancellation(of: task)) }
      more()
      fixture.engine.queue.resume()
      await fixture.settle()
    }
  }

  @Test func cancellationsThatArriveTogetherAreOneCommit() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      #expect(try await commits(cancelling: 200, fixture, app) == 1)
      let answered = app.messages.all.count { if case .reply(_, .cancelled) = $0 { true } else { false } }
      #expect(answered == 200)
      // A window of events; the others follow their acknowledgement.
      var told: [SequencedEvent] = []
      while told.count < 200 {
        let event = try await app.nextEvent()
        told.append(event)
        #expect(event.completion?.failure?.code == URLError.Code.cancelled.rawValue)
        #expect(event.completion?.failure?.url == "http://h/\(event.taskIdentifier)")
        try await app.acknowledge([event])
      }
      #expect(told.map(\.taskIdentifier) == Array(1...200))
    }
  }

  /// To seal and encode them takes a while, in which requests are answered.
  @Test func manyEndsAreSealedOutsideOfTheTurnsOfTheEngine() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let count = TransferEngine.endsSealedInTurn + 1
      let tasks = (1...count).map { TransferDescription.download("http://h/\($0)", task: $0, running: false) }
      #expect(try await app.create(tasks).count == count)
      let (sealing, isBusy) = (DispatchSemaphore(value: 0), Gate())
      fixture.engine.sealingQueue.async {
        isBusy.open()
        sealing.wait()
      }
      defer { sealing.signal() }
      try await isBusy.wait(within: patience)
      fixture.engine.queue.suspend()
      for task in 1...count { app.tell(cancellation(of: task)) }
      fixture.engine.queue.resume()
      #expect(try await app.ask(.version) != .done)
      await withCheckedContinuation { done in fixture.store.database.whenWritten { done.resume() } }
      #expect(try fixture.store.unfinishedHeads().count == count, "they are sealed first")
      sealing.signal()
      await fixture.settle()
      #expect(try fixture.store.unfinishedHeads().isEmpty)
      #expect(try await app.nextEvent().completion?.failure?.code == URLError.Code.cancelled.rawValue)
    }
  }

  /// Ends are written together where that works.
  @Test func anEndThatCanNotBeWrittenHoldsNoOtherUp() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create(
        (1...50).map { TransferDescription.download("http://h/\($0)", task: $0, running: false) })
      try fixture.store.database.write {
        try $0.execute(
          sql: """
            CREATE TRIGGER broken BEFORE UPDATE ON transfers WHEN new.id = \(ids[20]) AND new.state = 'completed'
            BEGIN SELECT RAISE(ABORT, 'a broken row'); END
            """)
      }
      for task in 1...50 { app.tell(cancellation(of: task)) }
      var told: [Int] = []
      while told.count < 49 {
        let event = try await app.nextEvent()
        told.append(event.taskIdentifier)
        try await app.acknowledge([event])
      }
      #expect(told == Array(1...50).filter { $0 != 21 })
      await fixture.settle()
      #expect(try fixture.store.unfinishedHeads().map(\.id) == [ids[20]])
      try fixture.store.database.write { try $0.execute(sql: "DROP TRIGGER broken") }
    }
  }

  /// Transfers that end while a commit waits for the disk are the next commit, and requests are answered meanwhile.
  @Test func endsThatComeDuringACommitAreTheNextOne() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let tasks = (1...30).map { TransferDescription.download("http://h/\($0)", task: $0, running: false) }
      _ = try await app.create(tasks)
      let (disk, isBusy) = (DispatchSemaphore(value: 0), Gate())
      let commits = try await CommitCounter.count(of: fixture.store) {
        fixture.store.database.write { _ in
          isBusy.open()
          disk.wait()
        } ended: { (_: Result<Void, any Error>) in
        }
        defer { disk.signal() }
        try await isBusy.wait(within: patience)
        for task in 1...30 { app.tell(cancellation(of: task)) }
        let answer = try await app.ask(.version)
        #expect(answer != .done)
        #expect(try fixture.store.unfinishedHeads().count == 30)
        disk.signal()
        await fixture.settle()
      }
      #expect(commits <= 4)
      #expect(try fixture.store.unfinishedHeads().isEmpty)
    }
  }

  /// The app was not told of the file yet.
  @Test func aCancellationWinsOverAFileThatIsBeingWritten() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin()
      let id = try #require(try await app.create([.download("http://h/")]).first)
      try await eventually("the run") { runner.running == [id] }
      await fixture.settle()
      let (disk, isBusy) = (DispatchSemaphore(value: 0), Gate())
      fixture.store.database.write { _ in
        isBusy.open()
        disk.wait()
      } ended: { (_: Result<Void, any Error>) in
      }
      defer { disk.signal() }
      try await isBusy.wait(within: patience)
      try Data("done".utf8).write(to: URL(fileURLWithPath: fixture.files.complete(id)))
      runner.end(id, .finished(ResponseSummary(url: "http://h/", status: 200), byteCount: 4))
      app.tell(cancellation(of: 1))
      let answer = try await app.ask(.version)
      #expect(answer != .done)
      disk.signal()
      let event = try await app.nextEvent()
      #expect(event.completion?.failure?.code == URLError.Code.cancelled.rawValue)
      await fixture.settle()
      #expect(fixture.names("complete") == [])
      try await app.acknowledge([event])
      #expect(app.events.count == 1)
    }
  }

  @Test func cancellationsWinOverManyFilesInOneCommit() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create((1...20).map { TransferDescription.download("http://h\($0)/", task: $0) })
      try await eventually("the runs") { runner.running == ids }
      await fixture.settle()
      for id in ids { try Data("done".utf8).write(to: URL(fileURLWithPath: fixture.files.complete(id))) }
      let commits = try await CommitCounter.count(of: fixture.store) {
        fixture.engine.queue.suspend()
        for id in ids { runner.end(id, .finished(ResponseSummary(url: "http://h/", status: 200), byteCount: 4)) }
        for task in 1...20 { app.tell(cancellation(of: task)) }
        fixture.engine.queue.resume()
        await fixture.settle()
      }
      #expect(commits == 2, "that of the ends and that of the cancellations")
      #expect(fixture.names("complete") == [])
      var told: [Int] = []
      while told.count < 20 {
        let event = try await app.nextEvent()
        told.append(event.taskIdentifier)
        #expect(event.completion?.failure?.code == URLError.Code.cancelled.rawValue)
        try await app.acknowledge([event])
      }
      #expect(told == Array(1...20))
    }
  }

  /// A withdrawal that can't be written holds no other one up.
  @Test func aFileThatCanNotBeWithdrawnIsDelivered() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create([.download("http://h1/"), .download("http://h2/", task: 2)])
      try await eventually("the runs") { runner.running == ids }
      await fixture.settle()
      for id in ids { try Data("done".utf8).write(to: URL(fileURLWithPath: fixture.files.complete(id))) }
      try fixture.store.database.write {
        try $0.execute(
          sql: """
            CREATE TRIGGER broken BEFORE DELETE ON events WHEN old.transfer = \(ids[0])
            BEGIN SELECT RAISE(ABORT, 'a broken row'); END
            """)
      }
      fixture.engine.queue.suspend()
      for id in ids { runner.end(id, .finished(ResponseSummary(url: "http://h/", status: 200), byteCount: 4)) }
      for task in 1...2 { app.tell(cancellation(of: task)) }
      fixture.engine.queue.resume()
      await fixture.settle()
      try fixture.store.database.write { try $0.execute(sql: "DROP TRIGGER broken") }
      let events = [try await app.nextEvent(), try await app.nextEvent(), try await app.nextEvent()]
      #expect(events[0].download?.byteCount == 4 && events[1].completion?.failure == nil)
      #expect(events[2].taskIdentifier == 2)
      #expect(events[2].completion?.failure?.code == URLError.Code.cancelled.rawValue)
      try await app.acknowledge(events)
    }
  }

  /// The session goes while the ends of its transfers are gathered.
  @Test func transfersThatGoWithTheirSessionMeanwhileAreNotWritten() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      _ = try await commits(cancelling: 20, fixture, app) {
        app.tell(.invalidate(SessionReference(session: "s")))
      }
      #expect(app.events.isEmpty)
      #expect(try fixture.store.unfinishedHeads().isEmpty)
      let answered = app.messages.all.count { if case .reply(_, .cancelled) = $0 { true } else { false } }
      #expect(answered == 20)
    }
  }

  /// A service that ends right behind it has carried it out.
  @Test func aRequestThatFollowsAnAnswerIsHandledAtOnce() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let handled = Recorder<Bool>()
      app.listen { [engine = fixture.engine, cancellation = cancellation(of: 1)] in
        guard case .reply(_, .created(let tasks)) = $0, let id = tasks.transfers.first else { return }
        app.tell(cancellation)
        engine.ping { handled.record(engine.transfers[id]?.machine.isEnding ?? true) }
      }
      _ = try await app.create([.download("http://h/", running: false)])
      #expect(try await handled.next())
    }
  }

  @Test func endsThatAreGatheredAreWrittenBeforeTheServiceEnds() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let tasks = (1...20).map { TransferDescription.download("http://h/", task: $0, running: false) }
      _ = try await app.create(tasks)
      for task in 1...20 { app.tell(cancellation(of: task)) }
      let next = try await fixture.nextLife()
      #expect(try next.store.unfinishedHeads().isEmpty)
    }
  }
}
