import Foundation
import GRDB
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Opening and closing the database of the service.
@Suite struct TransferStoreTests {
  private let fixture: StoreFixture
  private var store: TransferStore { fixture.store }

  init() throws { fixture = try StoreFixture() }

  @Test func everyCommitIsOnTheDisk() throws {
    #expect(try store.database.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
    // 2 is FULL.
    #expect(try store.database.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
  }

  @Test func itsFilesAreForItsUserAlone() throws {
    let other = try TemporaryFolder()
    let path = "\(other.path)/\(TransferStore.fileName)"
    func expectPrivate() throws {
      for suffix in ["", "-wal", "-shm"] {
        var status = stat()
        try #require(lstat(path + suffix, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600, "\(suffix)")
      }
    }
    let store = try TransferStore.open(in: other.path)
    try expectPrivate()
    try store.close()
    // As an earlier version has left it.
    #expect(chmod(path, 0o644) == 0)
    let next = try TransferStore.open(in: other.path)
    try expectPrivate()
    try next.close()
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
    let session = try store.attach(
      app: store.app(for: StoreFixture.program), identifier: "s", options: SessionOptions())
    let new = TransferStore.NewTransfer(.download("http://h/", task: 1), host: "http://h:80")
    #expect(try store.create([new], session: session.id, date: Date()).ids == [100_043])
  }

  @Test func theQueueIsReadAgainAfterClosing() throws {
    let session = try fixture.session()
    _ = try fixture.create(2, session: session.id)
    try store.close()
    let next = try TransferStore.open(in: fixture.folder.path)
    #expect(next.quarantine == nil)
    #expect(try next.unfinishedHeads().count == 2)
    #expect(try next.liveSessions().map(\.identifier) == ["s"])
    #expect(try next.liveSessions().first?.executable == StoreFixture.program)
  }

  @Test(arguments: ["not a database at all, but long enough to be read as the header of one".utf8.map { $0 }, []])
  func aDamagedQueueIsSetAside(content: [UInt8]) throws {
    let session = try fixture.session()
    _ = try fixture.create(1, session: session.id)
    try store.checkpoint()
    try store.close()
    let path = fixture.folder.path + "/" + TransferStore.fileName
    // The second case damages the middle of the file, where the tables are.
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    if content.isEmpty {
      bytes.replaceSubrange(4_096..<bytes.count, with: Data(repeating: 0xa5, count: bytes.count - 4_096))
    } else {
      bytes = Data(content)
    }
    try bytes.write(to: URL(fileURLWithPath: path))

    let date = Date(timeIntervalSince1970: 1_750_000_000)
    let next = try TransferStore.open(in: fixture.folder.path, date: date)
    let quarantine = try #require(next.quarantine)
    #expect(try next.unfinishedHeads() == [])
    // Opening may have touched the header; nothing was cut off.
    let kept = try Data(contentsOf: URL(fileURLWithPath: quarantine.path + "/" + TransferStore.fileName))
    #expect(kept.count == bytes.count && kept.suffix(16) == bytes.suffix(16))
    #expect(try String(contentsOfFile: quarantine.path + "/reason.txt", encoding: .utf8).contains(quarantine.reason))
    // The new one works, and is found sound the next time.
    try next.close()
    #expect(try TransferStore.open(in: fixture.folder.path).quarantine == nil)
  }

  @Test func crashesAreCountedUntilTheyAreForgotten() throws {
    let session = try fixture.session()
    let id = try fixture.create(1, session: session.id)[0]
    try store.countCrash(of: [id, 99])
    #expect(try store.unfinishedHeads().map(\.crashes) == [1])
    try store.forgetCrashes(of: id)
    #expect(try store.transfer(id)?.head.crashes == 0)
  }

  @Test func manyCrashesAreForgottenWithAResumption() async throws {
    let session = try fixture.session()
    let id = try fixture.create(1, session: session.id)[0]
    let store = self.store
    func crashes() throws -> Int? { try store.transfer(id)?.head.crashes }
    func set(_ state: StoredState) async throws {
      try await withCheckedThrowingContinuation { waiter in
        store.setState(state, of: [id], forgettingCrashesFrom: 2) { waiter.resume(with: $0) }
      }
    }
    func hold(_ isHeld: Bool) async throws {
      try await withCheckedThrowingContinuation { waiter in
        store.setHeld(isHeld, of: id, forgettingCrashesFrom: 2) { waiter.resume(with: $0) }
      }
    }
    for isOfUser in [false, true] {
      try store.countCrash(of: [id])
      isOfUser ? try await hold(false) : try await set(.active)
      #expect(try crashes() == 1, "there are fewer")
      try store.countCrash(of: [id])
      isOfUser ? try await hold(true) : try await set(.suspended)
      #expect(try crashes() == 2)
      isOfUser ? try await hold(false) : try await set(.active)
      #expect(try crashes() == 0)
    }
  }

  @Test func aNewerVersionsQueueIsLeftAlone() throws {
    try store.database.write {
      try $0.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('9 from the future')")
    }
    try store.close()
    #expect(throws: TransferStoreError.newerVersion(fixture.folder.path + "/" + TransferStore.fileName)) {
      try TransferStore.open(in: fixture.folder.path)
    }
    #expect(!FileManager.default.fileExists(atPath: fixture.folder.path + "/quarantine"))
  }
}
