import Foundation
import GRDB
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Queues that are made again: of those of earlier versions, and by services that are ended in the middle of it.
@Suite struct QueueRestorationTests {
  private static func events(_ store: TransferStore) throws -> [StoredEvent] {
    try store.liveSessions().flatMap { try store.events(of: $0.id, after: 0, limit: 999) }
  }

  private static func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  // MARK: Earlier versions

  /// Damages the page that has the text.
  private static func damagePage(with text: String, of path: String) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let place = try #require(bytes.range(of: Data(text.utf8))).lowerBound / 4_096 * 4_096
    bytes.replaceSubrange(place..<place + 4_096, with: Data(repeating: 0xa5, count: 4_096))
    try bytes.write(to: URL(fileURLWithPath: path))
  }

  /// Leaves a queue of that version with two hundred tasks more than the sample. Returns its path.
  private static func leaveQueue(of version: String, in folder: TemporaryFolder, _ change: String = "") throws -> String
  {
    let path = "\(folder.path)/\(TransferStore.fileName)"
    let old = try QueueFile.open(path)
    try TransferSchema.migrator.migrate(old, upTo: version)
    try old.write { database in
      try database.execute(sql: try #require(SchemaSample.rows[version]))
      try database.execute(
        sql: """
          INSERT INTO transfers (id, session, taskIdentifier, token, state, host, priority, description, created)
          WITH RECURSIVE numbers (n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM numbers WHERE n < 202)
          SELECT n, 1, n, 'token-' || n, 'active', 'https://h' || n || ':443', 0.5,
            CAST('{"countOfBytesClientExpectsToReceive":-1,"countOfBytesClientExpectsToSend":-1,"kind":"download",
              "priority":0.5,"request":{"headers":[],"method":"GET","url":"http://h/' || n || '"},
              "startsImmediately":true,"taskDescription":"mark-' || n || '-' || hex(zeroblob(90)) || '",
              "taskIdentifier":' || n || ',"token":"token-' || n || '"}' AS BLOB), 0.0 FROM numbers;
          UPDATE events SET completion =
            CAST(replace(CAST(completion AS TEXT), '"countOfBytesReceived":5', '"countOfBytesReceived":77') AS BLOB);
          \(change)
          """)
    }
    try old.close()
    return path
  }

  /// The first page keeps the tables from being brought to this version, the second one does not.
  @Test(arguments: SchemaSample.rows.keys.sorted().dropLast(), ["mark-100-", "\"countOfBytesReceived\":77"])
  func aDamagedQueueOfAnEarlierVersionIsSalvaged(version: String, mark: String) throws {
    let folder = try TemporaryFolder()
    try Self.damagePage(with: mark, of: try Self.leaveQueue(of: version, in: folder))

    let store = try TransferStore.open(in: folder.path)
    let quarantine = try #require(store.quarantine)
    #expect(quarantine.contents.contains("tasks of the old one that could be read"))
    let left = try store.unfinishedHeads().filter { $0.id > 2 }
    let lost = try Self.events(store).filter { $0.completion.failure != nil }.map(\.taskIdentifier)
    // Every task goes on, or its app is told.
    #expect(Set(left.map(\.taskIdentifier)).union(lost) == Set(3...202) && left.count + lost.count == 200)
    #expect(lost.contains(100) == mark.hasPrefix("mark") && lost.count < 40)
    #expect(left.allSatisfy { $0.host == "h\($0.taskIdentifier)" })
    #expect(try store.transfer(left[0].id)?.description.request.url == "http://h/\(left[0].taskIdentifier)")
    try store.close()
  }

  /// Before the service has had time for a copy of its own.
  @Test func aQueueThatIsLostRightAfterItWasMadeAnewIsMadeOnceMore() throws {
    let folder = try TemporaryFolder()
    let version = try #require(SchemaSample.rows.keys.max())
    let path = try Self.leaveQueue(of: version, in: folder)
    try Self.damagePage(with: "mark-100-", of: path)
    let first = try TransferStore.open(in: folder.path)
    let tasks = try first.unfinishedHeads().map(\.id)
    try first.close()
    for suffix in ["", "-wal", "-shm"] { try LinuxFileSystem().remove(path + suffix) }

    let second = try TransferStore.open(in: folder.path)
    #expect(try !tasks.isEmpty && second.unfinishedHeads().map(\.id) == tasks)
    try second.close()
  }

  /// They can be read, and are not what they should be.
  @Test func rowsOfTheWrongKindDoNotKeepAQueueFromBeingMade() throws {
    let folder = try TemporaryFolder()
    let version = try #require(SchemaSample.rows.keys.max())
    let path = try Self.leaveQueue(
      of: version, in: folder,
      "UPDATE transfers SET committedOffset = 'x' WHERE id IN (1, 7); DELETE FROM events; "
        + "UPDATE sessions SET launches = 'x';")
    try Self.damagePage(with: "mark-100-", of: path)
    let store = try TransferStore.open(in: folder.path)
    let told = try Self.events(store).filter { $0.transfer == 1 }
    #expect(told.map(\.kind) == [.completed] && told.first?.completion.failure?.message.contains("damaged") == true)
    #expect(try store.transfer(1)?.failure != nil)
    #expect(try store.unfinishedHeads().first { $0.id == 7 }?.committedOffset == 0)
    #expect(try store.transfer(7)?.isDamaged == true && store.transfer(8)?.isDamaged == false)
    try store.close()
  }

  // MARK: Services that end in the middle

  /// A folder whose queue is gone, with a task of which the journal alone is left: its request had fields that the journal
  /// does not have, so its app is told of its end.
  private static func leaveLostTask() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
    let task = TransferDescription.download("http://h/1", headers: [HeaderField("Authorization", "Basic abc")])
    try folder.leaveTransfer(task) { store, id in
      try store.commit(
        offset: 3,
        representation: .init(
          response: ResponseSummary(url: "http://h/", status: 200), validator: nil, expectedTotal: 9), of: id)
      let (stored, session) = (try store.transfer(id), try store.liveSessions().first)
      guard let stored, let session else { return }
      try files.journals.write(try TransferJournal(stored, of: session, bootID: "boot") { _, _ in nil })
      try folder.leaveFile("partial/\(id)")
    }
    for suffix in ["", "-wal", "-shm"] { try files.disk.remove("\(folder.path)/\(TransferStore.fileName)\(suffix)") }
    return folder
  }

  /// The service ends before that, and nothing that it has written is lost: neither is what the task had received.
  @Test func whatHasArrivedIsKeptWhereTheNewQueueGetsNoName() throws {
    let folder = try Self.leaveLostTask()
    let disk = FaultyFileSystem()
    disk.set([.init(.rename, code: EIO, path: "restoration/queue.sqlite")])
    #expect(throws: SystemError.self) { try TransferStore.open(in: folder.path, disk: disk, bootID: "boot").close() }
    let store = try TransferStore.open(in: folder.path, bootID: "boot")
    #expect(try Self.events(store).count == 1)
    let quarantine = try #require(store.quarantine)
    #expect(Self.has("\(quarantine.path)/partial/1") && !Self.has("\(folder.path)/partial/1"))
    try store.close()
  }

  /// A service was killed when the new queue had its name.
  @Test func theNextServiceCopiesTheQueueThatWasMadeAnew() throws {
    let folder = try Self.leaveLostTask()
    let disk = FaultyFileSystem()
    disk.set([.init(.rename, code: EIO, path: "partial/1")])
    #expect(throws: SystemError.self) { try TransferStore.open(in: folder.path, disk: disk, bootID: "boot").close() }
    let copy = "\(folder.path)/\(QueueCopy.fileName)"
    #expect(Self.has("\(folder.path)/\(TransferStore.fileName)") && !Self.has(copy))
    try FileManager.default.createDirectory(atPath: "\(folder.path)/restoration", withIntermediateDirectories: true)
    try TransferStore.open(in: folder.path, bootID: "boot").close()
    #expect(Self.has(copy) && !Self.has("\(folder.path)/restoration"))
  }

  /// The power goes after each number of operations. Whenever that is, the next service tells the app of the task, once,
  /// and what had arrived is where it says.
  @Test func aLostTaskIsToldWheneverTheServiceEnds() throws {
    for count in 0... {
      let folder = try Self.leaveLostTask()
      let disk = FaultyFileSystem()
      disk.switchOff(afterOperations: count)
      do { try TransferStore.open(in: folder.path, disk: disk, bootID: "boot").close() } catch {
        #expect(disk.isOff, "\(error)")
      }
      let store = try TransferStore.open(in: folder.path, bootID: "boot")
      let told = try Self.events(store)
      try #require(told.count == 1, "after \(count) operations")
      let failure = try #require(told[0].completion.failure)
      #expect(failure.url == "http://h/1")
      let kept = try FileManager.default.subpathsOfDirectory(atPath: "\(folder.path)/quarantine")
        .first { $0.hasSuffix("partial/1") }
      let path = try #require(kept.map { "\(folder.path)/quarantine/\($0)" }, "after \(count) operations")
      #expect(failure.message.contains(path) && Self.has(path) && !Self.has("\(folder.path)/partial/1"))
      let left = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      #expect(!left.contains { $0.hasSuffix("lost-files.json") })
      try store.close()
      guard disk.isOff else { return }
      try #require(count < 200)
    }
  }
}
