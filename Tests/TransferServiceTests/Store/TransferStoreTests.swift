import Foundation
import GRDB
import HTTPSemantics
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

@Suite struct TransferStoreTests {
  private let folder: TemporaryFolder
  private let store: TransferStore
  private static let program = ExecutableIdentity(path: "/app", device: 1, inode: 2, owner: 3)

  init() throws {
    folder = try TemporaryFolder()
    store = try TransferStore.open(in: folder.path)
  }

  private func session(_ identifier: String = "s", program: String = "/app") throws -> StoredSession {
    var executable = Self.program
    executable.path = program
    return try store.attach(app: store.app(for: executable), identifier: identifier, options: SessionOptions())
  }

  private func create(_ count: Int, session: SessionID, running: Bool = true) throws -> [TransferID] {
    let new = (1...count).map {
      TransferStore.NewTransfer(.download("http://h/\($0)", task: $0, running: running), host: "http://h:80")
    }
    return try store.create(new, session: session, date: Date()).ids
  }

  private func completion(_ bytes: Int64 = 5) -> Completion {
    Completion(
      failure: nil, response: ResponseSummary(url: "http://h/", status: 200), countOfBytesReceived: bytes,
      countOfBytesExpectedToReceive: bytes)
  }

  /// Sessions number their events alike.
  @Test func acknowledgementDoesNotReachOtherSessions() throws {
    let one = try session("one")
    let other = try session("other")
    let ids = try create(1, session: one.id)
    for id in ids { try store.finish(id, hasFile: true, completion: completion(), date: Date()) }
    let acknowledged = try store.acknowledge([1, 2], session: other.id)
    #expect(acknowledged.filesTaken.isEmpty && acknowledged.told.isEmpty)
    #expect(try store.eventCount(of: one.id) == 2)
  }

  @Test func everyCommitIsOnTheDisk() throws {
    #expect(try store.database.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
    // 2 is FULL.
    #expect(try store.database.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
  }

  @Test func tenThousandTransfersAreCreatedInOneBatch() throws {
    let session = try session()
    let new = (1...10_000).map {
      TransferStore.NewTransfer(
        .download("https://example.com/files/\($0)", task: $0, headers: [HeaderField("Authorization", "Bearer x")]),
        host: "https://example.com:443")
    }
    let result = try store.create(new, session: session.id, date: Date())
    #expect(result.created.count == 10_000)
    #expect(try store.unfinishedHeads().count == 10_000)
    #expect(try self.session().nextTaskIdentifier == 10_001)
  }

  @Test func receivedFilesAreSetAsideWithADamagedQueue() throws {
    let other = try TemporaryFolder()
    let files = TransferFiles(directory: other.path, disk: LinuxFileSystem())
    try files.createDirectories()
    try Data("bytes".utf8).write(to: URL(fileURLWithPath: files.complete(41)))
    try Data("bytes".utf8).write(to: URL(fileURLWithPath: files.deliveryDirectory + "/42.X.tmp"))
    try Data("no database".utf8).write(to: URL(fileURLWithPath: "\(other.path)/\(TransferStore.fileName)"))
    let store = try TransferStore.open(in: other.path)
    let quarantine = try #require(store.quarantine)
    #expect(FileManager.default.fileExists(atPath: quarantine.path + "/complete/41"))
    #expect(FileManager.default.fileExists(atPath: files.deliveryDirectory + "/42.X.tmp"))
    let session = try store.attach(app: store.app(for: Self.program), identifier: "s", options: SessionOptions())
    let new = TransferStore.NewTransfer(.download("http://h/", task: 1), host: "http://h:80")
    #expect(try store.create([new], session: session.id, date: Date()).ids == [43])
  }

  @Test func anUnreadableRowDoesNotHideOthers() throws {
    let session = try session()
    let ids = try create(2, session: session.id)
    try store.database.write {
      try $0.execute(
        sql: "UPDATE transfers SET description = x'00', nextAttempt = x'00' WHERE id = ?", arguments: [ids[0]])
      try $0.execute(sql: "UPDATE sessions SET options = x'00'")
    }
    #expect(try store.unfinishedHeads().count == 2)
    let live = try store.liveSessions()
    #expect(live.first?.options == SessionOptions())
    let read = try store.sessionTransfers(session.id, after: 0, limit: 9)
    #expect(read.map(\.isDamaged) == [true, false])
    try store.finish(ids[0], hasFile: false, completion: completion(), date: Date())
    try store.database.write { try $0.execute(sql: "UPDATE events SET completion = x'00'") }
    let events = try store.events(of: session.id, after: 0, limit: 9)
    #expect(events.first?.completion.failure != nil)
    #expect(try store.acknowledge(events.map(\.sequence), session: session.id).told == [ids[0]])
  }

  @Test func aTokenIsCreatedOnce() throws {
    let session = try session()
    let first = try create(3, session: session.id)
    let again = try store.create(
      (2...4).map { .init(.download("http://h/\($0)", task: $0), host: "h") }, session: session.id, date: Date())
    #expect(Array(again.ids.prefix(2)) == Array(first.suffix(2)))
    #expect(again.created == [again.ids[2]])
    #expect(try store.unfinishedHeads().count == 4)
  }

  @Test func aBatchIsCreatedCompletelyOrNotAtAll() throws {
    let session = try session()
    _ = try create(1, session: session.id)
    var clash = TransferDescription.download("http://h/", task: 1)
    clash.token = "another"
    #expect(throws: TransferStoreError.taskIdentifierTaken(1)) {
      try store.create(
        [.init(.download("http://h/", task: 7), host: "h"), .init(clash, host: "h")], session: session.id, date: Date())
    }
    #expect(try store.unfinishedHeads().count == 1)
  }

  @Test func storedValuesAreReadBack() throws {
    let session = try session()
    var description = TransferDescription.download("http://h/", running: false, headers: [HeaderField("A", "b")])
    description.priority = 0.75
    description.earliestBeginDate = Date(timeIntervalSince1970: 1_800_000_000)
    let id = try store.create([.init(description, host: "http://h:80")], session: session.id, date: Date()).ids[0]
    let clock = FakeClock()
    let instant = DurableInstant(clock.now + 5, clock: clock)
    let representation = TransferStore.Representation(
      response: ResponseSummary(url: "http://h/", status: 200, headers: [HeaderField("ETag", "\"1\"")]),
      validator: ResumeValidator(entityTag: "\"1\""), expectedTotal: 100)
    try store.commit(offset: 10, representation: representation, of: id)
    try store.commit(offset: 20, representation: nil, of: id)
    try store.setState(.active, of: [id])
    try store.setRetry(failures: 3, because: "lost", at: instant, of: id)
    try store.setStarted(instant, of: id)

    let stored = try #require(try store.transfer(id))
    #expect(stored.description == description)
    #expect(stored.response == representation.response)
    #expect(stored.validator == representation.validator)
    #expect(stored.head.committedOffset == 20)
    #expect(stored.head.expectedTotal == 100)
    #expect(stored.head.priority == 0.75)
    #expect(stored.head.earliestBegin == description.earliestBeginDate)
    #expect(stored.head.state == .active)
    #expect(stored.head.failures == 3)
    #expect(stored.head.lastFailure == "lost")
    #expect(stored.head.nextAttempt == instant)
    #expect(stored.started == instant)
    #expect(try store.unfinishedHeads() == [stored.head])

    try store.resetProgress(of: id)
    let reset = try #require(try store.transfer(id))
    #expect(reset.head.committedOffset == 0 && reset.validator == nil && reset.response == nil)
  }

  @Test func eventsStayUntilTheyAreAcknowledged() throws {
    let session = try session()
    let ids = try create(2, session: session.id)
    #expect(try store.finish(ids[1], hasFile: true, completion: completion(), date: Date()) == 2)
    var failed = completion(0)
    failed.failure = TransferFailure(domain: "d", code: 1, message: "m")
    #expect(try store.finish(ids[0], hasFile: false, completion: failed, date: Date()) == 1)
    // Over is over.
    #expect(try store.finish(ids[0], hasFile: true, completion: completion(), date: Date()) == 0)

    let events = try store.events(of: session.id, after: 0, limit: 10)
    #expect(events.map(\.sequence) == [1, 2, 3])
    #expect(events.map(\.kind) == [.finishedDownloading, .completed, .completed])
    #expect(events.map(\.transfer) == [ids[1], ids[1], ids[0]])
    #expect(try store.events(of: session.id, after: 1, limit: 1).map(\.sequence) == [2])
    #expect(try store.transfersWithUndeliveredFile() == [ids[1]])

    let first = try store.acknowledge([1], session: session.id)
    #expect(first == .init(removed: 1, filesTaken: [ids[1]]))
    let second = try store.acknowledge([2, 2, 99], session: session.id)
    #expect(second == .init(removed: 1, told: [ids[1]]))
    #expect(try store.transfer(ids[1])?.isAcknowledged == true)
    #expect(try store.transfer(ids[0])?.isAcknowledged == false)
    #expect(try store.sessionTransfers(session.id, after: 0, limit: 10).map(\.head.id) == [ids[0]])
    #expect(try store.eventCount(of: session.id) == 1)
  }

  @Test func historyHoldsNoCredentials() throws {
    let session = try session()
    var description = TransferDescription.download("http://h/", headers: [HeaderField("Authorization", "Bearer x")])
    description.request.body = Data("secret".utf8)
    let id = try store.create([.init(description, host: "h")], session: session.id, date: Date()).ids[0]
    try store.finish(id, hasFile: false, completion: completion(), date: Date())
    #expect(try store.transfer(id)?.description.request.headers.isEmpty == false)
    _ = try store.acknowledge([1], session: session.id)
    let history = try #require(try store.transfer(id))
    #expect(history.description.request.headers == [])
    #expect(history.description.request.body == nil)
    #expect(history.description.request.url == "http://h/")
  }

  @Test func appsAndSessionsDoNotShareTransfers() throws {
    let one = try session("s", program: "/one")
    let other = try session("s", program: "/other")
    #expect(one.id != other.id && one.app != other.app)
    let ids = try create(2, session: one.id)
    #expect(try store.appTransfers(one.app, after: 0, includingFinished: true, limit: 9).map(\.head.id) == ids)
    #expect(
      try store.appTransfers(one.app, after: ids[0], includingFinished: true, limit: 9).map(\.head.id) == [ids[1]])
    #expect(try store.appTransfers(other.app, after: 0, includingFinished: true, limit: 9) == [])
    #expect(try store.acknowledge([1], session: other.id).told == [])
    // The same program with another inode is the same app.
    #expect(
      try store.app(for: ExecutableIdentity(path: "/one", device: 9, inode: 9, owner: 9)) == one.app)
    #expect(try session("s", program: "/one").id == one.id)
  }

  @Test func anInvalidatedSessionForgetsAllButHistory() throws {
    let session = try session()
    let ids = try create(3, session: session.id)
    try store.finish(ids[0], hasFile: false, completion: completion(), date: Date())
    _ = try store.acknowledge([1], session: session.id)
    try store.finish(ids[1], hasFile: true, completion: completion(), date: Date())
    #expect(try store.invalidate(session.id) == [ids[1], ids[2]])
    #expect(try store.eventCount(of: session.id) == 0)
    #expect(try store.appTransfers(session.app, after: 0, includingFinished: true, limit: 9).map(\.head.id) == [ids[0]])
    // A new session of that name does not use a task identifier again.
    #expect(try self.session().nextTaskIdentifier == 4)
  }

  @Test func historyIsPrunedByAgeAndNumber() throws {
    let session = try session()
    let ids = try create(6, session: session.id)
    for (index, id) in ids.prefix(5).enumerated() {
      try store.finish(
        id, hasFile: false, completion: completion(), date: Date(timeIntervalSince1970: 1_000 * Double(index + 1)))
    }
    _ = try store.acknowledge([1, 2, 3, 4], session: session.id)
    try store.prune(finishedBefore: Date(timeIntervalSince1970: 1_500), keeping: 2, sparing: [])
    // 1 was too old, 2 one too many; 5 has an event, 6 is not over.
    #expect(
      try store.appTransfers(session.app, after: 0, includingFinished: true, limit: 9).map(\.head.id)
        == Array(ids.suffix(4)))
  }

  @Test func numbersAreNotUsedAgainAfterTheHistoryIsShortened() throws {
    let session = try session()
    let ids = try create(2, session: session.id)
    for id in ids { try store.finish(id, hasFile: false, completion: completion(), date: Date()) }
    _ = try store.acknowledge([1, 2], session: session.id)
    _ = try self.session("unused")
    try store.prune(finishedBefore: Date.distantFuture, keeping: 0, sparing: [])
    // Only the session that never had a task is gone.
    #expect(try store.database.read { try String.fetchAll($0, sql: "SELECT identifier FROM sessions") } == ["s"])
    #expect(try store.appTransfers(session.app, after: 0, includingFinished: true, limit: 9).isEmpty)
    let again = try self.session()
    #expect(again.nextTaskIdentifier == 3)
    let id = try store.create([.init(.download("http://h/", task: 3), host: "h")], session: again.id, date: Date()).ids[
      0]
    try store.finish(id, hasFile: false, completion: completion(), date: Date())
    #expect(try store.events(of: again.id, after: 0, limit: 9).map(\.sequence) == [3])
  }

  @Test func theQueueIsReadAgainAfterClosing() throws {
    let session = try session()
    _ = try create(2, session: session.id)
    try store.close()
    let next = try TransferStore.open(in: folder.path)
    #expect(next.quarantine == nil)
    #expect(try next.unfinishedHeads().count == 2)
    #expect(try next.liveSessions().map(\.identifier) == ["s"])
    #expect(try next.liveSessions().first?.executable == Self.program)
  }

  @Test(arguments: ["not a database at all, but long enough to be read as the header of one".utf8.map { $0 }, []])
  func aDamagedQueueIsSetAside(content: [UInt8]) throws {
    let session = try session()
    _ = try create(1, session: session.id)
    try store.checkpoint()
    try store.close()
    let path = folder.path + "/" + TransferStore.fileName
    // The second case damages the middle of the file, where the tables are.
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    if content.isEmpty {
      bytes.replaceSubrange(4_096..<bytes.count, with: Data(repeating: 0xa5, count: bytes.count - 4_096))
    } else {
      bytes = Data(content)
    }
    try bytes.write(to: URL(fileURLWithPath: path))

    let date = Date(timeIntervalSince1970: 1_750_000_000)
    let next = try TransferStore.open(in: folder.path, date: date)
    let quarantine = try #require(next.quarantine)
    #expect(try next.unfinishedHeads() == [])
    // Opening may have touched the header; nothing was cut off.
    let kept = try Data(contentsOf: URL(fileURLWithPath: quarantine.path + "/" + TransferStore.fileName))
    #expect(kept.count == bytes.count && kept.suffix(16) == bytes.suffix(16))
    #expect(try String(contentsOfFile: quarantine.path + "/reason.txt", encoding: .utf8).contains(quarantine.reason))
    // The new one works, and is found sound the next time.
    try next.close()
    #expect(try TransferStore.open(in: folder.path).quarantine == nil)
  }

  @Test func aNewerVersionsQueueIsLeftAlone() throws {
    try store.database.write {
      try $0.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('9 from the future')")
    }
    try store.close()
    #expect(throws: TransferStoreError.newerVersion(folder.path + "/" + TransferStore.fileName)) {
      try TransferStore.open(in: folder.path)
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/quarantine"))
  }
}
