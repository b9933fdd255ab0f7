import Foundation
import GRDB
import HTTPSemantics
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Changes that apps and persons were told of since the queue was copied last.
@Suite struct QueueChangeTests {
  private func loseQueue(_ fixture: EngineFixture) throws {
    for suffix in ["", "-wal", "-shm"] {
      try fixture.disk.remove("\(fixture.folder.path)/\(TransferStore.fileName)\(suffix)")
    }
  }

  private func limit(_ subject: LimitTransfers.Subject, _ rate: Int64) -> ClientRequest {
    .limit(LimitTransfers(subject: subject, limit: BandwidthLimit(bytesPerSecond: rate)))
  }

  /// - Parameter copied: Whether a copy has the tasks, and no change.
  @Test(arguments: [false, true]) func changesOutliveTheFileOfTheQueue(copied: Bool) async throws {
    try await withEngine(runner: ScriptedRunner(), { $0.mayLimitService = { _ in true } }) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create((1...6).map { .download("http://h/\($0)", task: $0) })
      await fixture.settle()
      if copied { try fixture.engine.copyAtEnd(upTo: .max) }
      #expect(fixture.names(NewTaskFolder.name).isEmpty == copied)

      try await app.ask(.holdTransfer(TransferReference(transfer: ids[0])))
      try await app.ask(.suspendTasks(TaskSelection(session: "s", taskIdentifiers: [2, 3])))
      try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [3])))
      var edit = EditTransfer(transfer: ids[3])
      edit.url = "http://other/new"
      edit.fields = [HeaderField("X-Test", "new")]
      try await app.ask(.editTransfer(edit))
      var update = UpdateTask(session: "s", taskIdentifier: 5)
      (update.priority, update.taskDescription) = (0.25, "text")
      try await app.ask(.updateTask(update))
      for subject in [LimitTransfers.Subject.service, .app, .session("s"), .transfer(ids[4])] {
        #expect(try await app.ask(limit(subject, 5_000)) == .done)
      }
      try await app.ask(.cancelTransfer(TransferReference(transfer: ids[5])))
      let retry = PlannedTry(
        DurableInstant(fixture.clock.now + 100, clock: fixture.clock), .busyServer(status: 503, keepsBytes: true))
      try await written {
        fixture.store.setRetry(failures: 3, because: "It was busy.", at: retry, of: ids[1], ended: $0)
      }
      await fixture.settle()
      fixture.engine.newTasks.drain()
      let edited = try #require(try fixture.store.transfer(ids[3]))
      #expect(edited.description.request.url == "http://other/new")
      await fixture.shutDown()
      try loseQueue(fixture)

      let store = try TransferStore.open(in: fixture.folder.path, bootID: fixture.clock.bootID)
      let contents = try #require(store.quarantine).contents
      #expect(contents.contains("later changes by their records") && !contents.contains("of later pauses"))
      let heads = try store.unfinishedHeads()
      try #require(heads.map(\.id) == Array(ids[..<5]))
      #expect(heads.map(\.isHeld) == [true, false, false, false, false])
      #expect(heads.map(\.state) == [.active, .suspended, .active, .active, .active])
      #expect(heads[3].host == "other" && heads[4].priority == 0.25)
      #expect(heads[1].failures == 3 && heads[1].nextAttempt == retry && heads[1].lastFailure == "It was busy.")
      let again = try #require(try store.transfer(ids[3]))
      #expect(again.description == edited.description && again.sealedRequest == edited.sealedRequest)
      #expect(try store.transfer(ids[4])?.description.taskDescription == "text")
      var table = LimitTable()
      table.set(BandwidthLimit(bytesPerSecond: 5_000))
      let session = try #require(try store.liveSessions().first)
      #expect(try store.limits(ofSession: session.id) == table)
      #expect(
        try store.limitsBesidesSessions() == [.service: table, .app(session.app): table, .transfer(ids[4]): table])
      // The app is told of the end that it had not heard of.
      let event = try #require(try store.events(of: session.id, after: 0, limit: 9).first)
      #expect(event.taskIdentifier == 6 && event.completion.failure?.code == URLError.Code.cancelled.rawValue)
      #expect(event.completion.failure?.url == "http://h/6")
      try store.close()
    }
  }

  /// A copy that has some of the changes, or all, is not taken back behind them.
  @Test func changesThatTheCopyHasAreMadeOnceMore() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create([.download("http://h/1")])
      for _ in 0..<2 {
        try await app.ask(.holdTransfer(TransferReference(transfer: ids[0])))
        try await app.ask(.releaseTransfer(TransferReference(transfer: ids[0])))
      }
      // Of that alone: its records stay.
      try fixture.store.copyIfChanged()
      await fixture.settle()
      await fixture.shutDown()
      try loseQueue(fixture)
      let store = try TransferStore.open(in: fixture.folder.path, bootID: fixture.clock.bootID)
      #expect(try store.unfinishedHeads().map(\.isHeld) == [false])
      try store.close()
    }
  }

  @Test func thePauseIsOnTheDiskWhenItIsAnswered() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create([.download("http://h/1")])
      let syncs = { fixture.disk.log.count { $0.hasPrefix("sync \(NewTaskFolder.name)/") } }
      let before = syncs()
      try await app.ask(.holdTransfer(TransferReference(transfer: ids[0])))
      #expect(syncs() == before + 1)
      #expect(try fixture.files.newTasks.records().changes.contains(.held(true, of: ids[0])))
    }
  }

  /// It is made where it can't be written down, and its record follows with the next one.
  @Test func aChangeIsMadeThoughItsRecordCannotBeWritten() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let id = try await app.create([.download("http://h/1")])[0]
      fixture.disk.set([.init(.write, code: EIO, path: "/\(NewTaskFolder.name)/")])
      #expect(try await app.ask(.holdTransfer(TransferReference(transfer: id))) == .done)
      fixture.disk.set([])
      #expect(try await app.ask(.releaseTransfer(TransferReference(transfer: id))) == .done)
      let changes = try fixture.files.newTasks.records().changes
      #expect(
        changes.filter { if case .held = $0 { true } else { false } } == [.held(true, of: id), .held(false, of: id)])
    }
  }

  /// Thousands that are cancelled together are a list of numbers.
  @Test func cancellationsAreOneShortRecord() throws {
    let ends = (1...10_000).map { (TransferID($0), TransferFailure.cancelled("http://h/\($0)") as TransferFailure?) }
    let record = try #require(TransferStore.record(of: ends, at: Date(timeIntervalSince1970: 1)))
    let changes = try record.content()
    #expect(changes.count == 1 && record.awaits == .theServiceIsKilled)
    let content = try NewTaskRecord.encode(changes)
    #expect(content.count < 60_000)
    guard case .changed(let read) = NewTaskRecord.records(in: content).first else {
      Issue.record("it is not read")
      return
    }
    #expect(read == changes)
    #expect(TransferStore.record(of: [(1, nil)], at: Date()) == nil)
  }

  /// A queue with one download.
  private func queueOfOne() throws -> (TemporaryFolder, TransferFiles, TransferStore, StoredSession, TransferID) {
    let folder = try TemporaryFolder()
    let files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
    let store = try TransferStore.open(in: folder.path, bootID: "boot")
    let session = try store.attach(
      app: store.app(for: StoreFixture.program), identifier: "s", options: SessionOptions())
    let created = try store.create([.init(.download("http://h/1"), host: "h")], session: session.id, date: Date())
    return (folder, files, store, session, created.ids[0])
  }

  /// Bytes of the former resource would be taken for the beginning of the new one.
  @Test func anEditToAnotherResourceForgetsTheBytesOfTheJournal() throws {
    let (folder, files, store, session, id) = try queueOfOne()
    let response = ResponseSummary(url: "http://h/1", status: 200)
    try store.commit(
      offset: 5, representation: .init(response: response, validator: nil, expectedTotal: 9), of: id)
    try folder.leaveFile("partial/\(id)")
    let stored = try #require(try store.transfer(id))
    try files.journals.write(try TransferJournal(stored, of: session, bootID: "boot") { _, _ in nil })
    try store.copyIfChanged()
    try store.close()
    for suffix in ["", "-wal", "-shm"] { try files.disk.remove("\(folder.path)/\(TransferStore.fileName)\(suffix)") }
    let change = QueueChange.edit(try edit(of: id, to: "http://h/2"))
    try NewTaskRecord.encode([change]).write(to: URL(fileURLWithPath: "\(files.newTasks.directory)/tasks-1"))

    let next = try TransferStore.open(in: folder.path, bootID: "boot")
    #expect(try next.transfer(id)?.description.request.url == "http://h/2")
    #expect(try next.unfinishedHeads().map(\.committedOffset) == [0])
    try next.close()
  }

  /// The bytes arrived after the edit, and the description has changed once more since then.
  @Test func theBytesThatArrivedAfterAnEditAreKept() throws {
    let (folder, files, store, session, id) = try queueOfOne()
    try store.copyIfChanged()
    let edit = try edit(of: id, to: "http://mirror/1")
    try store.database.write { _ = try TransferStore.set(edit, in: $0) }
    let response = ResponseSummary(url: "http://mirror/1", status: 200)
    try store.commit(
      offset: 5, representation: .init(response: response, validator: nil, expectedTotal: 9), of: id)
    try folder.leaveFile("partial/\(id)")
    var later = TransferDescription.download("http://mirror/1")
    later.priority = 0.25
    let change = QueueChange.Description(transfer: id, encoded: try MessageFraming.encode(later), priority: 0.25)
    try store.database.write { try TransferStore.set(change, in: $0) }
    let stored = try #require(try store.transfer(id))
    try files.journals.write(try TransferJournal(stored, of: session, bootID: "boot") { _, _ in nil })
    try store.close()
    for suffix in ["", "-wal", "-shm"] { try files.disk.remove("\(folder.path)/\(TransferStore.fileName)\(suffix)") }
    try NewTaskRecord.encode([.edit(edit), .description(change)])
      .write(to: URL(fileURLWithPath: "\(files.newTasks.directory)/tasks-1"))

    let next = try TransferStore.open(in: folder.path, bootID: "boot")
    #expect(try next.transfer(id)?.description == later)
    #expect(try next.unfinishedHeads().map(\.committedOffset) == [5])
    #expect(FileManager.default.fileExists(atPath: files.partial(id)))
    try next.close()
  }

  private func edit(of id: TransferID, to url: String) throws -> QueueChange.Edit {
    QueueChange.Edit(
      transfer: id, encoded: try MessageFraming.encode(TransferDescription.download(url)), priority: 0.5, host: "h",
      changesPassword: false, changesFields: false, startsOver: true)
  }

  /// The transfer was edited to these resources, one after the other. Once it was of another one, its part may have bytes of that
  /// though the row is older than all edits.
  @Test(
    arguments: [
      ([2], "http://h/2?signature=x", [false]), ([2, 2], "http://h/2", [false, false]),
      ([2, 3], "http://h/2", [false, true]), ([2, 2, 3, 3], "http://h/2", [false, false, true, true]),
      ([3, 2], "http://h/2", [true, true]), ([2, 3, 2], "http://h/2", [true, true, true]),
      ([2, 3, 2, 2], "http://h/2", [true, true, true, true]), ([2, 3], "http://h/1", [true, true]), ([2], nil, [true]),
    ] as [([Int], String?, [Bool])])
  func anEditForgetsBytesOfOtherResources(edits: [Int], resource: String?, startsOver: [Bool]) throws {
    let other = try edit(of: 8, to: "http://h/1")
    let changes = try edits.map { QueueChange.edit(try edit(of: 7, to: "http://h/\($0)")) }
    let made = ([.held(true, of: 7)] + changes + [.edit(other)]).sparingBytes { $0 == 7 ? resource : nil }
    #expect(made.first == .held(true, of: 7) && made.last == .edit(other))
    let found = made.dropFirst().dropLast().map { if case .edit(let edit) = $0 { edit.startsOver } else { false } }
    #expect(found == startsOver)
  }

  /// A queue that is made of its copy alone says what it can't know.
  @Test func aRebuildWithoutRecordsSaysWhatIsMissing() throws {
    let fixture = try StoreFixture()
    _ = try fixture.create(1, session: fixture.session().id)
    try fixture.store.copyIfChanged()
    try fixture.store.close()
    try LinuxFileSystem().remove("\(fixture.folder.path)/\(TransferStore.fileName)")
    let next = try TransferStore.open(in: fixture.folder.path)
    let contents = try #require(next.quarantine).contents
    #expect(contents.hasSuffix("of later pauses, edits, limits, failures and cancellations there is no record"))
    try next.close()
    let withoutCopy = QueueRestoration.Source.parts(.nothing, .init(fromJournals: 2))
    #expect(
      withoutCopy.sentence
        == "it has 2 tasks by their journals; pauses, limits and tasks of which there is no record are gone")
  }
}
