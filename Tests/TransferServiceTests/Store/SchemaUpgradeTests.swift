import Foundation
import GRDB
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// A queue of each earlier version of the service is opened by this one and used.
@Suite struct SchemaUpgradeTests {
  private static let versions = 1...8

  private let folder: TemporaryFolder
  private var path: String { "\(folder.path)/\(TransferStore.fileName)" }

  init() throws { folder = try TemporaryFolder() }

  @Test func everyVersionHasASample() throws {
    let migrations = TransferSchema.migrator.migrations
    #expect(migrations.count == Self.versions.count, "add a file with the tables and rows of the new version")
    #expect(try StoredSample.names().filter { $0.hasSuffix(".sqlite") } == Self.versions.map { "\($0).sqlite" })
  }

  /// What the tables of a queue are made of, and the migrations that it has had.
  private func tables(_ path: String) throws -> [String] {
    let queue = try QueueFile.open(path)
    defer { try? queue.close() }
    return try queue.read { database in
      let tables = try String.fetchAll(
        database, sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'grdb%' ORDER BY name")
      return try tables.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        + String.fetchAll(database, sql: "SELECT identifier FROM grdb_migrations ORDER BY identifier")
    }
  }

  @Test(arguments: versions) func theTablesOfAnEarlierVersionAreAsTheyWere(version: Int) throws {
    try StoredSample.copy("\(version).sqlite", to: path)
    let today = "\(folder.path)/today.sqlite"
    let queue = try QueueFile.open(today)
    let migrator = TransferSchema.migrator
    try migrator.migrate(queue, upTo: migrator.migrations[version - 1])
    try queue.close()
    #expect(try tables(path) == tables(today))
  }

  @Test(arguments: versions) func aQueueOfThatVersionIsUsed(version: Int) throws {
    try StoredSample.copy("\(version).sqlite", to: path)
    let hasUploads = version >= 6
    let store = try TransferStore.open(in: folder.path)
    #expect(store.quarantine == nil)
    let session = try #require(try store.liveSessions().first)
    #expect(session.identifier == "s" && session.executable.path == "/app")
    #expect(session.nextTaskIdentifier == (hasUploads ? 4 : 3))
    #expect(session.options.timeoutIntervalForRequest == 33)
    #expect(session.judgesConnections == (version == 3))
    #expect(session.holder?.bootID == (version == 2 ? "b" : nil))
    #expect(session.recentLaunches == (hasUploads ? 2 : 0))
    let head = try #require(try store.unfinishedHeads().first)
    #expect(head.id == 2 && head.committedOffset == 7 && head.state == .suspended)
    #expect(head.host == "h" && head.isHeld == hasUploads && head.isBegun == (version >= 7))
    #expect(try store.database.read { try QueueNumbers.changes(in: $0) } == (version == 8 ? 5 : 0))
    let suspended = try #require(try store.transfer(2))
    #expect(suspended.validator?.entityTag == "\"e\"" && suspended.description.request.url == "http://h/2")
    #expect(suspended.sealedPassword == (version == 4 ? Data([1, 2]) : nil))
    #expect(suspended.sealedRequest == (hasUploads ? Data([2, 1]) : nil))
    #expect(session.sealedFields == (hasUploads ? Data([2, 2]) : nil))
    let events = try store.events(of: session.id, after: 0, limit: 9)
    #expect(events.map(\.kind) == [.finishedDownloading, .completed])
    #expect(events.map(\.completion.countOfBytesReceived) == [5, 5])
    try expectUpload(hasUploads, store)
    try expectLimits(hasUploads, store, session)

    // It is written, too.
    let again = try store.attach(
      app: store.app(for: session.executable), identifier: "s", options: SessionOptions())
    #expect(again.id == session.id)
    let new = TransferStore.NewTransfer(.download("http://h/4", task: 4), host: "h")
    #expect(try store.create([new], session: session.id, date: Date()).ids == [hasUploads ? 4 : 3])
    #expect(try store.acknowledge([1, 2], session: session.id).told == [1])
    try store.finish(2, hasFile: false, completion: StoreFixture.completion(), date: Date())
    #expect(try store.events(of: session.id, after: 2, limit: 9).map(\.sequence) == [3])
    // The first numbers of new sessions and apps.
    let further = try store.attach(
      app: store.app(for: session.executable), identifier: "t", options: SessionOptions())
    #expect(further.nextTaskIdentifier == (version == 5 ? 3 : 1))
    let stranger = ExecutableIdentity(path: "/other", device: 1, inode: 3, owner: 3)
    let first = try store.attach(app: store.app(for: stranger), identifier: "s", options: SessionOptions())
    #expect(first.nextTaskIdentifier == (version == 5 ? 9 : 1))
    try store.close()
    #expect(try tables(path).last == TransferSchema.migrator.migrations.last)
  }

  private func expectUpload(_ isThere: Bool, _ store: TransferStore) throws {
    let stored = try store.transfer(3)
    #expect((stored != nil) == isThere)
    guard let stored else { return }
    let upload = try #require(stored.upload)
    #expect(stored.description.kind == .upload && stored.description.upload?.path == "/home/f")
    #expect(upload.path == "/home/f" && upload.size == 600 && upload.copy == "c.new" && upload.sent == 9)
    #expect(upload.place == .init(resource: "http://h/place", version: 6, acknowledged: 7))
  }

  private func expectLimits(_ areThere: Bool, _ store: TransferStore, _ session: StoredSession) throws {
    let tables = try store.limitsBesidesSessions()
    guard areThere else {
      #expect(try tables.isEmpty && store.limits(ofSession: session.id).isEmpty)
      return
    }
    #expect(tables[.transfer(2)]?.rate(minute: 0) == 10_000 && tables[.app(1)]?.rate(minute: 0) == 30_000)
    #expect(tables[.service]?.rate(minute: 8 * 60) == 40_000 && tables[.service]?.rate(minute: 18 * 60) == nil)
    #expect(try store.limits(ofSession: session.id).rate(minute: 0) == 20_000)
  }

  /// The queue is gone; what an earlier version has written beside it is read.
  @Test func aQueueIsMadeOfTheJournalsOfEarlierVersions() throws {
    let files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
    for transfer in [2, 3] { try StoredSample.copy("journal-\(transfer)", to: files.journals.path(Int64(transfer))) }
    try StoredSample.copy("tasks-1", to: "\(files.newTasks.directory)/tasks-1")
    // Beyond what the journal says, in another start of the machine.
    try Data(count: 8).write(to: URL(fileURLWithPath: files.partial(2)))
    try folder.leaveFile("uploads/3")

    let store = try TransferStore.open(in: folder.path, bootID: "other")
    #expect(store.quarantine != nil)
    #expect(try store.unfinishedHeads().map(\.id) == [2, 3, 4])
    let session = try #require(try store.liveSessions().first)
    #expect(session.identifier == "s" && session.executable.path == "/app" && session.judgesConnections)
    #expect(session.options.timeoutIntervalForRequest == 33 && session.sealedFields == Data([2, 2]))
    let download = try #require(try store.transfer(2))
    #expect(download.head.committedOffset == 7 && download.head.expectedTotal == 9 && download.head.state == .suspended)
    #expect(download.validator?.entityTag == "\"e\"" && download.response?.status == 200)
    #expect(download.sealedRequest == Data([2, 1]) && download.sealedPassword == Data([1, 2]))
    try expectUpload(true, store)
    let new = try #require(try store.transfer(4))
    #expect(new.head.state == .active && new.description.request.url == "http://h/4")
    #expect(new.sealedRequest == Data([2, 1]) && new.sealedPassword == Data([1, 2]))
    try store.close()
  }
}
