import Foundation
import GRDB
import HTTPSemantics
import Logging
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// A new queue of parts of a damaged one, a copy and journals.
@Suite struct QueueRebuildingTests {
  private let folder: TemporaryFolder
  private let files: TransferFiles
  private var queuePath: String { "\(folder.path)/\(TransferStore.fileName)" }

  init() throws {
    folder = try TemporaryFolder()
    files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
  }

  private func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private var copyPath: String { "\(folder.path)/\(QueueCopy.fileName)" }

  /// A queue whose changes have no records is copied when it is opened. There is no copy here but where a test makes one.
  private func open() throws -> TransferStore {
    let hasCopy = has(copyPath)
    let store = try TransferStore.open(in: folder.path, bootID: "boot")
    if !hasCopy, store.quarantine == nil {
      for name in QueueCopy.names { try files.disk.remove("\(folder.path)/\(name)") }
    }
    return store
  }

  private func loseQueue() throws {
    for suffix in ["", "-wal", "-shm"] { try files.disk.remove(queuePath + suffix) }
  }

  /// What has arrived of a transfer, and its journal.
  private func receive(
    _ store: TransferStore, _ id: TransferID, journal offset: Int64 = 3, total: Int64 = 9, bootID: String = "boot"
  ) throws {
    try store.commit(
      offset: offset,
      representation: .init(
        response: ResponseSummary(url: "http://h/", status: 200),
        validator: ResumeValidator(entityTag: "\"e\""), expectedTotal: total), of: id)
    try writeJournal(store, id, bootID: bootID)
  }

  private func writeJournal(_ store: TransferStore, _ id: TransferID, bootID: String = "boot") throws {
    let stored = try #require(try store.transfer(id))
    let session = try #require(try store.session(stored.head.session))
    try files.journals.write(try TransferJournal(stored, of: session, bootID: bootID) { _, _ in nil })
  }

  private func session(_ store: TransferStore, _ identifier: String = "s") throws -> StoredSession {
    try store.attach(app: store.app(for: StoreFixture.program), identifier: identifier, options: SessionOptions())
  }

  private func events(_ store: TransferStore) throws -> [StoredEvent] {
    try store.liveSessions().flatMap { try store.events(of: $0.id, after: 0, limit: 999) }
  }

  // MARK: Journals

  @Test(arguments: [("boot", Int64(5)), ("earlier", 3)])
  func aPartGoesOnByItsJournal(bootID: String, offset: Int64) throws {
    let store = try open()
    let id = try store.create(
      [.init(.download("http://h/1", task: 4), host: "h")], session: session(store).id, date: Date()
    ).ids[0]
    try receive(store, id, bootID: bootID)
    try folder.leaveFile("partial/\(id)")
    try store.setJudgesConnections(of: session(store).id)
    try writeJournal(store, id, bootID: bootID)
    try store.close()
    try loseQueue()

    let next = try open()
    let quarantine = try #require(next.quarantine)
    #expect(quarantine.contents.contains("1 tasks by their journals"))
    let head = try #require(try next.unfinishedHeads().first)
    #expect(head.id == id && head.taskIdentifier == 4 && head.state == .active && head.host == "h")
    // Without a start of the machine in between, what was written later is there as well.
    #expect(head.committedOffset == offset && head.expectedTotal == 9)
    let stored = try #require(try next.transfer(id))
    #expect(stored.validator?.entityTag == "\"e\"" && stored.description.token == "token-4")
    let session = try #require(try next.liveSessions().first)
    #expect(session.identifier == "s" && session.executable == StoreFixture.program && session.judgesConnections)
    #expect(session.nextTaskIdentifier > 1 << 40 && has(files.partial(id)))
    try next.close()
    #expect(try open().quarantine == nil)
  }

  @Test func aJournalSaysMoreThanAnOlderCopy() throws {
    let store = try open()
    let ids = try store.create(
      (1...2).map { .init(.download("http://h/\($0)", task: $0), host: "h") }, session: session(store).id, date: Date()
    ).ids
    for id in ids { try folder.leaveFile("partial/\(id)") }
    try store.copyIfChanged()
    try receive(store, ids[0])
    try store.close()
    try loseQueue()
    let next = try open()
    #expect(try next.unfinishedHeads().map(\.committedOffset) == [5, 0])
    let quarantine = try #require(next.quarantine)
    #expect(has(files.partial(ids[0])) && has("\(quarantine.path)/partial/\(ids[1])"))
    try next.close()
  }

  /// The service was killed between the change and its record.
  @Test func aTaskWithoutARecordOutlivesTheQueueFromTheNextStartOn() throws {
    let store = try open()
    let new = (1...2).map { TransferStore.NewTransfer(.download("http://h/\($0)", task: $0), host: "h") }
    let ids = try store.create(new, session: session(store).id, date: Date()).ids
    let records = NewTaskJournal(store: store, files: files, log: Logger(label: "tests"), patience: 0)
    records.add([(new[0], ids[0])], of: try session(store).id, at: Date()) {}
    records.drain()
    try store.close()
    #expect(!has(copyPath))
    let second = try TransferStore.open(in: folder.path, bootID: "boot")
    #expect(second.quarantine == nil && has(copyPath))
    // What it says is in the copy, and may be older.
    #expect(try files.newTasks.numbers().isEmpty)
    try second.close()
    try loseQueue()
    let third = try open()
    #expect(try third.unfinishedHeads().map(\.id) == ids)
    try third.close()
  }

  /// The service starts when there are fewer open files, and nothing is lost.
  @Test(arguments: [JournalFolder.name, NewTaskFolder.name]) func aRecordThatCanNotBeReadNowIsWaitedFor(name: String)
    throws
  {
    let store = try open()
    let new = TransferStore.NewTransfer(.download("http://h/1", task: 1), host: "h")
    let id = try store.create([new], session: session(store).id, date: Date()).ids[0]
    if name == JournalFolder.name {
      try writeJournal(store, id)
    } else {
      let records = NewTaskJournal(store: store, files: files, log: Logger(label: "tests"), patience: 0)
      records.add([(new, id)], of: try session(store).id, at: Date()) {}
      records.drain()
    }
    try store.close()
    try loseQueue()
    let disk = FaultyFileSystem()
    for code in [EMFILE, ENOMEM] {
      disk.set([.init(.read, code: code, path: "/\(name)/")])
      #expect(throws: SystemError.self) { try TransferStore.open(in: folder.path, disk: disk, bootID: "boot").close() }
    }
    disk.set([])
    let next = try TransferStore.open(in: folder.path, disk: disk, bootID: "boot")
    #expect(try next.unfinishedHeads().map(\.id) == [id])
    try next.close()
  }

  /// No download was recorded, and there is no copy: an upload has a journal alone.
  @Test func aJournalTellsThatTheLastChangesAreGone() throws {
    let store = try open()
    let session = try session(store)
    try store.checkpoint()
    let earlier = try Data(contentsOf: URL(fileURLWithPath: queuePath))
    let new = TransferStore.NewTransfer(.download("http://h/1", task: 1), host: "h")
    let id = try store.create([new], session: session.id, date: Date()).ids[0]
    try writeJournal(store, id)
    try store.close()
    try loseQueue()
    try earlier.write(to: URL(fileURLWithPath: queuePath))

    let next = try open()
    #expect(try #require(next.quarantine).contents.contains("1 tasks by their journals"))
    #expect(try next.unfinishedHeads().map(\.id) == [id])
    try next.close()
    // The name of a file that is no journal tells nothing.
    try folder.leaveFile("journals/9000000")
    #expect(try open().quarantine == nil)
  }

  @Test func sealedFieldsAreOpenedInAQueueMadeOfJournals() async throws {
    let key = QueueKey(ofQueue: "tests", file: folder.path + "/key") { nil }
    await withCheckedContinuation { done in key.open { done.resume() } }
    let (program, content) = (StoreFixture.program, Data("fields".utf8))
    let store = try open()
    // With it, the app has another number in the new queue.
    _ = try store.app(for: ExecutableIdentity(path: "/first", device: 1, inode: 2, owner: 3))
    let app = try store.app(for: program)
    let session = try store.attach(
      app: app, identifier: "s", options: SessionOptions(),
      sealedFields: key.sealFields(content, for: SealedFields.purpose(of: program.path, "s")))
    var new = TransferStore.NewTransfer(.download("http://h/1", task: 4), host: "h")
    new.sealedRequest = key.sealFields(content, for: SealedFields.purpose(of: "token-4"))
    let id = try store.create([new], session: session.id, date: Date()).ids[0]
    try receive(store, id)
    try folder.leaveFile("partial/\(id)")
    try store.close()
    try loseQueue()

    let next = try open()
    let stored = try #require(try next.transfer(id))
    let again = try #require(try next.session(stored.head.session))
    #expect(again.app != app)
    let request = try #require(stored.sealedRequest)
    #expect(key.unsealFields(request, for: SealedFields.purpose(of: stored.description.token)) == .open(content))
    let added = try #require(again.sealedFields)
    let purpose = SealedFields.purpose(of: again.executable.path, again.identifier)
    #expect(key.unsealFields(added, for: purpose) == .open(content))
    try next.close()
  }

  @Test func aTaskWithoutItsRequestEndsAndItsAppIsTold() throws {
    let store = try open()
    let task = TransferDescription.download("http://h/1", headers: [HeaderField("Authorization", "Basic abc")])
    let id = try store.create([.init(task, host: "h")], session: session(store).id, date: Date()).ids[0]
    try receive(store, id)
    try folder.leaveFile("partial/\(id)")
    try store.close()
    try loseQueue()
    let content = try #require(FileManager.default.contents(atPath: files.journals.path(id)))
    #expect(content.range(of: Data("Basic abc".utf8)) == nil)
    let next = try open()
    let quarantine = try #require(next.quarantine)
    #expect(try next.unfinishedHeads() == [])
    let told = try events(next)
    #expect(told.map(\.kind) == [.completed] && told.first?.sequence ?? 0 > 1 << 40)
    let failure = try #require(told.first?.completion.failure)
    #expect(failure.code == URLError.Code.backgroundSessionWasDisconnected.rawValue && failure.url == "http://h/1")
    #expect(failure.message.contains("\(quarantine.path)/partial/\(id)") && has("\(quarantine.path)/partial/\(id)"))
    try next.close()
  }

  // MARK: Damage

  /// Damages the page that has the text, in the file without its log.
  private func damagePage(with text: String) throws {
    let url = URL(fileURLWithPath: queuePath)
    var bytes = try Data(contentsOf: url)
    let place = try #require(bytes.range(of: Data(text.utf8))).lowerBound / 4_096 * 4_096
    bytes.replaceSubrange(place..<place + 4_096, with: Data(repeating: 0xa5, count: 4_096))
    try bytes.write(to: url)
  }

  /// Two sessions with a hundred tasks each. Each description has a mark.
  private func leaveTwoSessions() throws {
    let store = try open()
    for (name, first) in [("s", 1), ("t", 101)] {
      let new = (first..<first + 100).map { task in
        var description = TransferDescription.download("http://h/\(task)", task: task)
        description.taskDescription = "mark-\(task)-" + String(repeating: "x", count: 200)
        return TransferStore.NewTransfer(description, host: "h")
      }
      _ = try store.create(new, session: session(store, name).id, date: Date())
    }
    try store.finish(1, hasFile: true, completion: StoreFixture.completion(), date: Date())
    try folder.leaveFile("complete/1")
    try store.finish(2, hasFile: false, completion: StoreFixture.completion(), date: Date())
    try folder.leaveFile("partial/50")
    try store.checkpoint()
    try store.close()
  }

  @Test(arguments: [false, true]) func aPageThatCanNotBeReadCostsItsOwnTasksOnly(copied: Bool) throws {
    try leaveTwoSessions()
    if copied {
      let store = try open()
      try store.copyIfChanged()
      try store.finish(150, hasFile: false, completion: StoreFixture.completion(), date: Date())
      try store.checkpoint()
      try store.close()
    }
    try damagePage(with: "mark-50-")
    let store = try open()
    let quarantine = try #require(store.quarantine)
    let left = Set(try store.unfinishedHeads().map(\.taskIdentifier))
    let told = try events(store)
    #expect(told.filter { $0.taskIdentifier == 1 }.map(\.kind) == [.finishedDownloading, .completed])
    #expect(told.filter { $0.taskIdentifier == 2 }.map(\.kind) == [.completed])
    if copied {
      // Those of the page come from the copy; what is newer in other pages stays.
      #expect(left == Set(3...200).subtracting([150]) && has("\(quarantine.path)/partial/50"))
      #expect(told.contains { $0.taskIdentifier == 150 })
    } else {
      let lost = Set(told.filter { $0.completion.failure != nil }.map(\.taskIdentifier))
      #expect(lost.contains(50) && lost.count < 30 && lost.allSatisfy { $0 <= 100 })
      #expect(left == Set(3...200).subtracting(lost))
      let failure = try #require(told.first { $0.taskIdentifier == 50 }?.completion.failure)
      #expect(failure.code == URLError.Code.backgroundSessionWasDisconnected.rawValue)
      #expect(failure.message.contains("\(quarantine.path)/partial/50"))
    }
    let names = try store.liveSessions().map(\.identifier)
    #expect(names == ["s", "t"])
    try store.close()
    #expect(try open().quarantine == nil)
  }

  /// Its row is lost; the copy, where there is one, is older than its end. The index that still names it does not tell of
  /// acknowledgements.
  @Test(arguments: [false, true]) func anEndThatItsAppHasAcknowledgedIsNotToldAgain(copied: Bool) throws {
    try leaveTwoSessions()
    let store = try open()
    if copied { try store.copyIfChanged() }
    try store.finish(50, hasFile: false, completion: StoreFixture.completion(), date: Date())
    let event = try #require(try events(store).first { $0.transfer == 50 })
    _ = try store.acknowledge([event.sequence], session: session(store).id)
    let records = NewTaskJournal(store: store, files: files, log: Logger(label: "tests"), patience: 0)
    records.ended([50])
    records.drain()
    try store.checkpoint()
    try store.close()
    try damagePage(with: "mark-50-")
    let next = try open()
    #expect(next.quarantine != nil)
    #expect(try !events(next).contains { $0.taskIdentifier == 50 })
    #expect(try !next.unfinishedHeads().contains { $0.taskIdentifier == 50 })
    try next.close()
  }

  /// The damaged queue is older than its copy, as where its log was lost: it does not have the session.
  @Test func aSessionThatOnlyTheCopyHasIsKept() throws {
    try leaveTwoSessions()
    let earlier = try Data(contentsOf: URL(fileURLWithPath: queuePath))
    let store = try open()
    let id = try store.create(
      [.init(.download("http://h/new", task: 1), host: "h")], session: session(store, "new").id, date: Date()
    ).ids[0]
    try store.copyIfChanged()
    try store.close()
    try loseQueue()
    try earlier.write(to: URL(fileURLWithPath: queuePath))
    try damagePage(with: "mark-50-")
    let next = try open()
    #expect(next.quarantine != nil)
    #expect(try next.liveSessions().map(\.identifier).contains("new"))
    #expect(try next.unfinishedHeads().map(\.id).contains(id))
    try next.close()
  }

  @Test func anEventWhoseContentIsDamagedIsMadeAnew() throws {
    try leaveTwoSessions()
    let store = try open()
    try store.database.write {
      try $0.execute(sql: "UPDATE events SET completion = X'a5a5' WHERE transfer IN (1, 2) AND kind = 'completed'")
    }
    try store.checkpoint()
    try store.close()
    try damagePage(with: "mark-50-")
    let next = try open()
    let told = try events(next)
    #expect(told.filter { $0.taskIdentifier == 1 }.map(\.kind) == [.finishedDownloading, .completed])
    #expect(told.filter { $0.taskIdentifier == 2 }.map(\.kind) == [.completed])
    #expect(told.filter { $0.taskIdentifier <= 2 }.allSatisfy { $0.completion.failure == nil })
    try next.close()
  }

  @Test(arguments: ["/app", "\"options of s\""]) func tasksOutliveTheRecordOfTheirSession(text: String) throws {
    try leaveTwoSessions()
    let store = try open()
    var options = SessionOptions()
    options.sharedContainerIdentifier = "options of s"
    _ = try store.attach(app: store.app(for: StoreFixture.program), identifier: "s", options: options)
    try store.checkpoint()
    try store.close()
    try damagePage(with: text)
    let next = try open()
    #expect(try next.unfinishedHeads().count == 198)
    let sessions = try next.liveSessions()
    #expect(sessions.map(\.identifier) == ["s", "t"] && sessions.allSatisfy { $0.executable.path == "/app" })
    // The app may judge connections, so none is made without it.
    if text != "/app" { #expect(sessions.map(\.judgesConnections) == [true, true]) }
    try next.close()
  }

  enum Rest: CaseIterable { case copy, journal, nothing }

  /// The page with the end of a long record is damaged: the row can be read, and is not what was written.
  @Test(arguments: Rest.allCases, [false, true])
  func aLongRecordWithADamagedEndComesFromElsewhere(rest: Rest, isDescription: Bool) throws {
    let store = try open()
    let long = String(repeating: "x", count: 9_000) + "the end"
    var new = TransferStore.NewTransfer(.download("http://h/long", task: 1), host: "h")
    if isDescription {
      var description = TransferDescription.download("http://h/long", task: 1)
      description.taskDescription = long
      new = TransferStore.NewTransfer(description, host: "h")
    } else {
      new.sealedRequest = Data(long.utf8)
    }
    let other = TransferStore.NewTransfer(.download("http://h/2", task: 2), host: "h")
    let ids = try store.create([new, other], session: session(store).id, date: Date()).ids
    if rest == .copy { try store.copyIfChanged() }
    try store.setState(.suspended, of: ids)
    if rest == .journal { try writeJournal(store, ids[0]) }
    try store.checkpoint()
    try store.close()
    try damagePage(with: "the end")

    let next = try open()
    #expect(try #require(next.quarantine).contents.contains("of the old one that could be read"))
    #expect(try next.unfinishedHeads().map(\.id) == ids)
    #expect(try next.unfinishedHeads().map(\.state) == [.suspended, .suspended])
    let stored = try #require(try next.transfer(ids[0]))
    if rest != .nothing {
      #expect(stored.description.taskDescription == new.description.taskDescription && !stored.isDamaged)
      #expect(stored.sealedRequest == new.sealedRequest)
    } else {
      #expect(stored.isDamaged == isDescription && stored.description.token == "token-1")
    }
    try next.close()
    #expect(try open().quarantine == nil)
  }

  // MARK: Rows

  @Test func aRowOfTheWrongKindCostsNoOther() throws {
    let store = try open()
    let ids = try store.create(
      (1...2).map { .init(.download("http://h/\($0)", task: $0), host: "h") }, session: session(store).id, date: Date()
    ).ids
    try store.database.write {
      try $0.execute(sql: "UPDATE transfers SET committedOffset = 'x' WHERE id = ?", arguments: [ids[0]])
    }
    #expect(try store.mendDamagedRows() == 1)
    #expect(try store.unfinishedHeads().map(\.id) == ids)
    let damaged = try ids.map { try store.transfer($0)?.isDamaged }
    #expect(damaged == [true, false])
    #expect(try store.mendDamagedRows() == 0)
    try store.close()
  }

  @Test func aLongQueueIsNotReadAsAWholeAtTheStart() throws {
    try leaveTwoSessions()
    try damagePage(with: "mark-50-")
    #expect(throws: DatabaseError.self) { try QueueFile.checkAtStart(queuePath) }
    try QueueFile.checkAtStart(queuePath, upTo: 1_000)
    // The copy finds it.
    #expect(throws: DatabaseError.self) {
      try QueueFile.write(queuePath, to: "\(folder.path)/copy", disk: files.disk)
    }
  }
}
