import Dispatch
import Foundation
import GRDB
import Synchronization
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Copies of a queue that is in use, and damage that is found meanwhile.
@Suite struct QueueCopyTests {
  private let fixture: StoreFixture
  private var store: TransferStore { fixture.store }
  private var copyPath: String { "\(fixture.folder.path)/\(QueueCopy.fileName)" }

  init() throws { fixture = try StoreFixture() }

  private func status(of path: String) throws -> stat {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw SystemError(errno, "lstat", path: path) }
    return status
  }

  @Test func aCopyIsMadeAfterAChangeOnly() throws {
    let session = try fixture.session()
    try store.copyIfChanged()
    let first = try status(of: copyPath)
    #expect(first.st_mode & 0o777 == 0o600)
    try store.copyIfChanged()
    #expect(try status(of: copyPath).st_ino == first.st_ino)
    _ = try fixture.create(2, session: session.id)
    try store.copyIfChanged()
    #expect(try status(of: copyPath).st_ino != first.st_ino)
    let copy = try QueueFile.open(copyPath)
    #expect(try copy.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM transfers") } == 2)
    try copy.close()
    #expect(!FileManager.default.fileExists(atPath: copyPath + ".new"))
  }

  /// The copy before would begin again what is over since.
  @Test func aSecondNameThatCannotBeGivenLeavesNoOlderCopy() throws {
    let folder = try TemporaryFolder()
    let disk = FaultyFileSystem()
    let store = try TransferStore.open(in: folder.path, disk: disk)
    let names = QueueCopy.names.map { "\(folder.path)/\($0)" }
    try store.copyIfChanged()
    #expect(try names.map { try status(of: $0).st_ino }.allSatisfy { try $0 == status(of: names[0]).st_ino })
    _ = try store.app(for: StoreFixture.program)
    disk.set([.init(.link, code: EIO)])
    try store.copyIfChanged()
    #expect(names.map { FileManager.default.fileExists(atPath: $0) } == [true, false])
    disk.set([])
    var other = StoreFixture.program
    other.path = "/other"
    _ = try store.app(for: other)
    try store.copyIfChanged()
    #expect(try status(of: names[1]).st_ino == status(of: names[0]).st_ino)
    try store.close()
  }

  @Test func aFolderAtTheNameOfACopyIsSetAside() throws {
    let folder = fixture.folder.path
    let names = QueueCopy.names.flatMap { [$0, $0 + ".new"] }
    for name in names { #expect(mkdir("\(folder)/\(name)", 0o700) == 0) }
    _ = try fixture.session()
    #expect(try store.copyIfChanged())
    #expect(try status(of: copyPath).st_mode & S_IFMT == S_IFREG)
    let dated = try #require(try FileManager.default.contentsOfDirectory(atPath: folder + "/set-aside").first)
    let kept = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/set-aside/\(dated)")
    #expect(kept.sorted() == names.sorted())
  }

  @Test func aQueueThatWasClosedMeanwhileIsNotCopied() throws {
    _ = try fixture.session()
    try store.close()
    #expect(throws: DatabaseError.self) { try store.copyIfChanged() }
    #expect(!FileManager.default.fileExists(atPath: copyPath) && store.damage == nil)
  }

  @Test func aLongQueueIsNotCopiedAtTheEnd() throws {
    try store.checkpoint()
    try store.copyIfChanged(upTo: 1)
    #expect(!FileManager.default.fileExists(atPath: copyPath))
  }

  /// Between the look at the files and the copy: a log of which the index is left looks like damage.
  @Test(arguments: [["", "-wal", "-shm"], ["-wal"]]) func aQueueWhoseFilesGoMeanwhileIsCopied(suffixes: [String]) throws
  {
    let folder = try TemporaryFolder()
    let disk = FaultyFileSystem()
    let store = try TransferStore.open(in: folder.path, disk: disk)
    try store.checkpoint()
    let app = try store.app(for: StoreFixture.program)
    let looks = Mutex(0)
    disk.watchSizes { path in
      guard path.hasSuffix("/\(TransferStore.fileName)-wal") else { return }
      let count = looks.withLock { looks in
        looks += 1
        return looks
      }
      guard count == 2 else { return }
      for suffix in suffixes { unlink("\(folder.path)/\(TransferStore.fileName)\(suffix)") }
    }
    #expect(try store.copyIfChanged())
    disk.watchSizes(nil)
    #expect(looks.withLock { $0 } >= 2 && store.damage?.contains("while it was in use") == true)
    let copy = try QueueFile.open("\(folder.path)/\(QueueCopy.fileName)")
    #expect(try copy.read { try Int64.fetchOne($0, sql: "SELECT id FROM apps") } == app)
    try copy.close()
    try store.close()
  }

  @Test func aFileThatIsGoneBeforeItIsWatchedIsLost() throws {
    let path = "\(fixture.folder.path)/other"
    #expect(try OpenQueueFiles(path).loss(on: LinuxFileSystem()) == "its file was removed while it was in use")
  }

  /// The record of a new task names its session.
  @Test func theSessionOfANewTaskIsReadFromAQueueWhoseFileWasRemoved() throws {
    let id = try fixture.session().id
    let (isReading, end, store) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), store)
    // The one connection for reading is in use.
    DispatchQueue.global().async {
      try? store.database.read { _ in
        isReading.signal()
        end.wait()
      }
    }
    isReading.wait()
    defer { end.signal() }
    for suffix in ["", "-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: "\(fixture.folder.path)/\(TransferStore.fileName)\(suffix)")
    }
    #expect(throws: DatabaseError.self) { try store.session(id) }
    #expect(try store.sessionOfNewTask(id)?.id == id)
  }

  /// - Parameter replaced: Whether there are other files then.
  @Test(arguments: [["", "-wal", "-shm"], [""], ["-wal"]], [false, true])
  func aQueueWhoseFileWasRemovedInUseIsCopiedAndLeft(suffixes: [String], replaced: Bool) throws {
    _ = try fixture.create(2, session: fixture.session().id)
    #expect(!store.hasLostFile)
    for suffix in suffixes {
      let path = "\(fixture.folder.path)/\(TransferStore.fileName)\(suffix)"
      let content = replaced ? try Data(contentsOf: URL(fileURLWithPath: path)) : nil
      try content?.write(to: URL(fileURLWithPath: path + ".other"))
      try FileManager.default.removeItem(atPath: path)
      if replaced { try FileManager.default.moveItem(atPath: path + ".other", toPath: path) }
    }
    #expect(store.hasLostFile)
    let reasons = Mutex<[String]>([])
    store.whenDamaged { reason in reasons.withLock { $0.append(reason) } }
    try store.copyIfChanged()
    #expect(reasons.withLock { $0.count } == 1 && store.damage != nil)
    try store.condemn(because: "it is gone", date: Date())
    try store.close()
    let next = try TransferStore.open(in: fixture.folder.path)
    #expect(next.quarantine != nil)
    #expect(try next.unfinishedHeads().count == 2)
    try next.close()
  }

  @Test func damageInUseIsSaidOnce() throws {
    let reasons = Mutex<[String]>([])
    store.whenDamaged { reason in reasons.withLock { $0.append(reason) } }
    for code in [ResultCode.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CORRUPT, .SQLITE_NOTADB] {
      #expect(throws: DatabaseError.self) {
        try store.database.read { _ in throw DatabaseError(resultCode: code, message: "\(code)") }
      }
    }
    #expect(reasons.withLock { $0.count } == 1 && store.damage?.contains("11") == true)
    let later = Mutex(0)
    store.whenDamaged { _ in later.withLock { $0 += 1 } }
    #expect(later.withLock { $0 } == 1)
    // A damaged queue takes no good copy's place.
    try store.copyIfChanged()
    #expect(!FileManager.default.fileExists(atPath: copyPath))
  }

  /// Pages that were not read before are overwritten while the queue is open.
  @Test func garbageInAnOpenQueueIsFoundByTheCopy() throws {
    _ = try fixture.create(500, session: fixture.session().id)
    try store.checkpoint()
    try store.close()
    let path = "\(fixture.folder.path)/\(TransferStore.fileName)"
    let open = try TransferStore.open(in: fixture.folder.path)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    let count = try file.seekToEnd()
    try file.seek(toOffset: 40_960)
    try file.write(contentsOf: Data(repeating: 0xa5, count: Int(count) - 40_960))
    #expect(throws: DatabaseError.self) { try open.copyIfChanged() }
    let reason = try #require(open.damage)
    try open.condemn(because: reason, date: Date())
    try? open.close()
    let next = try TransferStore.open(in: fixture.folder.path)
    let quarantine = try #require(next.quarantine)
    #expect(quarantine.reason == reason)
    #expect(FileManager.default.fileExists(atPath: "\(quarantine.path)/\(TransferStore.fileName)"))
    try next.close()
  }

  /// SQLite would copy such a page as it is.
  @Test func garbageInALongRecordTakesNoGoodCopysPlace() throws {
    let session = try fixture.session()
    var new = TransferStore.NewTransfer(.download("http://h/long", task: 7), host: "h")
    new.sealedRequest = Data(repeating: 0x78, count: 9_000) + Data("the end".utf8)
    let long = try store.create([new], session: session.id, date: Date()).ids[0]
    try store.copyIfChanged()
    let copy = try status(of: copyPath)
    let later = try fixture.create(1, session: session.id)
    try store.checkpoint()
    let path = "\(fixture.folder.path)/\(TransferStore.fileName)"
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let place = try #require(bytes.range(of: Data("the end".utf8))).lowerBound / 4_096 * 4_096
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: UInt64(place))
    try file.write(contentsOf: Data(repeating: 0xa5, count: 4_096))
    try file.close()
    #expect(throws: DatabaseError.self) { try store.copyIfChanged() }
    #expect(try status(of: copyPath).st_ino == copy.st_ino)

    try store.condemn(because: try #require(store.damage), date: Date())
    try? store.close()
    let next = try TransferStore.open(in: fixture.folder.path)
    #expect(next.quarantine != nil)
    #expect(try next.unfinishedHeads().map(\.id) == [long] + later)
    #expect(try next.transfer(long)?.sealedRequest == new.sealedRequest)
    try next.close()
  }
}
