import Foundation
import GRDB
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Damaged queues of which later ones were made.
@Suite struct SupersededQueuesTests {
  private let folder: TemporaryFolder
  private let disk = FaultyFileSystem()

  init() throws { folder = try TemporaryFolder() }

  /// Leaves folders of earlier days, oldest first.
  @discardableResult
  private func leave(_ count: Int, with names: [String] = ["queue.sqlite", "queue.sqlite-wal", "reason.txt"]) throws
    -> [String]
  {
    try (0..<count).map { day in
      let date = Date(timeIntervalSince1970: 1_700_000_000 + Double(day) * 86_400)
      let path = try folder.subfolder("\(QueueQuarantine.folderName)/\(DatedFolder.name(date))")
      for name in names { try Data("x".utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)")) }
      return path
    }
  }

  private var earlier: SupersededQueues { SupersededQueues(directory: folder.path, disk: disk) }

  /// A queue that is damaged as a whole, with a copy.
  private func leaveDamagedQueue() throws {
    try folder.leaveTransfer(.download("http://h/1")) { store, _ in try store.copyIfChanged() }
    try damageQueue()
  }

  private func damageQueue() throws {
    for suffix in ["", "-wal", "-shm"] { try disk.remove("\(folder.path)/\(TransferStore.fileName)\(suffix)") }
    try Data("no queue".utf8).write(to: URL(fileURLWithPath: "\(folder.path)/\(TransferStore.fileName)"))
  }

  @Test func onlyFoldersOfAQueueAloneAreSuperseded() throws {
    let paths = try leave(2)
    #expect(try earlier.folders(sparing: nil) == paths && earlier.folders(sparing: paths[0]) == [paths[1]])
    _ = try folder.subfolder("\(QueueQuarantine.folderName)/Zoo")
    try Data().write(to: URL(fileURLWithPath: "\(paths[0])/copy"))
    _ = try folder.subfolder("\(QueueQuarantine.folderName)/\((paths[1] as NSString).lastPathComponent)/partial")
    #expect(try earlier.folders(sparing: nil) == [])
  }

  /// A person may have packed a folder, or given its path to something else, and the queue may have been a folder.
  @Test func whatIsNoFolderOfFilesIsLeftAlone() throws {
    let root = try folder.subfolder(QueueQuarantine.folderName)
    let name = { DatedFolder.name(Date(timeIntervalSince1970: 1_600_000_000)) }
    let packed = "\(root)/\(name()).tar.gz"
    try Data("packed".utf8).write(to: URL(fileURLWithPath: packed))
    let elsewhere = try folder.subfolder("elsewhere")
    try Data("x".utf8).write(to: URL(fileURLWithPath: "\(elsewhere)/queue.sqlite"))
    #expect(symlink(elsewhere, "\(root)/\(name())") == 0)
    let letters = try folder.subfolder("\(QueueQuarantine.folderName)/\(name())/queue.sqlite")
    try Data("letter".utf8).write(to: URL(fileURLWithPath: "\(letters)/letter"))
    _ = try folder.subfolder("\(QueueQuarantine.folderName)/\(name())")
    let paths = try leave(SupersededQueues.kept + 1)
    #expect(try earlier.folders(sparing: nil) == paths)
    #expect(try earlier.removeExcess(sparing: nil) == [paths[0]])
    for path in [packed, "\(elsewhere)/queue.sqlite", "\(letters)/letter"] {
      #expect(FileManager.default.fileExists(atPath: path), "\(path)")
    }
  }

  @Test(arguments: [EACCES, EIO]) func aFolderThatCanNotBeListedKeepsNoOther(code: Int32) throws {
    let paths = try leave(SupersededQueues.kept + 2)
    disk.set([.init(.list, code: code, path: (paths[0] as NSString).lastPathComponent)])
    #expect(try earlier.removeExcess(sparing: nil) == [paths[1]])
    #expect(try earlier.makeRoom(after: SystemError(ENOSPC, "write"), sparing: nil) == paths[2])
    #expect(FileManager.default.fileExists(atPath: paths[0]))
  }

  @Test func theLatestAreKept() throws {
    let paths = try leave(SupersededQueues.kept + 3)
    try leaveDamagedQueue()
    var reports: [String] = []
    let store = try TransferStore.open(in: folder.path, disk: disk) { reports.append($0) }
    reports.removeAll { !$0.contains("damaged queue") }
    #expect(try store.unfinishedHeads().count == 1)
    let current = try #require(store.quarantine?.path)
    try store.close()
    #expect(try earlier.folders(sparing: current) == Array(paths.dropFirst(3)))
    #expect(FileManager.default.fileExists(atPath: current))
    #expect(reports.count == 3 && reports.first?.contains(paths[0]) == true)
  }

  private func setDates(_ paths: [String], _ date: (Int) -> Date) throws {
    for (index, path) in paths.enumerated() {
      try FileManager.default.setAttributes([.modificationDate: date(index)], ofItemAtPath: path)
    }
  }

  /// Not by their names: the clock may have been wrong.
  @Test func theOrderIsThatInWhichTheyWereSetAside() throws {
    let paths = try leave(3)
    try setDates(paths) { Date(timeIntervalSince1970: 1_700_000_000 - Double($0)) }
    #expect(try earlier.folders(sparing: nil) == paths.reversed())
    // Of the same second.
    try setDates(paths) { _ in Date(timeIntervalSince1970: 1_700_000_000) }
    #expect(try earlier.folders(sparing: nil) == paths)
  }

  /// A machine without a battery for its clock starts in 1970.
  @Test func aQueueIsTheLatestWhateverTheClockSays() throws {
    let paths = try leave(SupersededQueues.kept)
    let later = Date(timeIntervalSinceNow: 86_400)
    try setDates(paths) { later + Double($0) }
    var folders: [String] = []
    try leaveDamagedQueue()
    for second in [60.0, 30] {
      let store = try TransferStore.open(in: folder.path, date: Date(timeIntervalSince1970: second), disk: disk)
      folders.append(try #require(store.quarantine?.path))
      try store.close()
      try damageQueue()
    }
    #expect(try earlier.folders(sparing: nil) == Array(paths.dropFirst()) + folders)
  }

  @Test func theCurrentOneIsSparedWhateverThePathOfTheFolder() throws {
    let paths = try leave(2)
    let name = (paths[1] as NSString).lastPathComponent
    #expect(try earlier.folders(sparing: "/elsewhere/quarantine/\(name)") == [paths[0]])
  }

  /// Otherwise the service would wait for ever for room that its own folder takes.
  @Test(arguments: [1, 2]) func theOldestMakeRoomOnAFullDisk(failures: Int) throws {
    let paths = try leave(4)
    try leaveDamagedQueue()
    disk.set([.init(.copy, code: ENOSPC, path: "restoration", times: failures)])
    var reports: [String] = []
    let store = try TransferStore.open(in: folder.path, disk: disk) { reports.append($0) }
    reports.removeAll { !$0.contains("damaged queue") }
    #expect(try store.unfinishedHeads().count == 1)
    let current = try #require(store.quarantine?.path)
    try store.close()
    // The reserve goes first, where there is one.
    let gone = 4 - (try earlier.folders(sparing: current).count)
    #expect((failures - 1...failures).contains(gone) && reports.count == gone)
    #expect(try earlier.folders(sparing: current) == Array(paths.dropFirst(gone)))
  }

  /// SQLite calls each failed write of the disk the same.
  @Test func aBrokenDiskCostsNoDamagedQueue() throws {
    let paths = try leave(3)
    let error = DatabaseError(resultCode: .SQLITE_IOERR_WRITE)
    #expect(try earlier.makeRoom(after: error, sparing: nil) == nil)
    disk.set([.init(.sync, code: EIO)])
    #expect(try earlier.makeRoom(after: error, sparing: nil) == nil)
    #expect(try earlier.folders(sparing: nil) == paths)
    disk.set([.init(.sync, code: EDQUOT)])
    #expect(try earlier.makeRoom(after: error, sparing: nil) == paths[0])
    #expect(try earlier.folders(sparing: nil) == Array(paths.dropFirst()))
  }

  /// A queue is made anew with copies of it.
  @Test func aQueueThatIsRestoredNeedsMoreRoom() throws {
    let paths = try leave(3)
    try Data(count: 1 << 20).write(to: URL(fileURLWithPath: "\(paths[2])/\(TransferStore.fileName)"))
    disk.setFreeSpace(7 << 20)
    let error = DatabaseError(resultCode: .SQLITE_IOERR_WRITE)
    #expect(try earlier.makeRoom(after: error, sparing: nil) == nil)
    #expect(try earlier.makeRoom(after: error, sparing: paths[2]) == paths[0])
  }

  @Test func theLatestOneMakesNoRoom() throws {
    let paths = try leave(2)
    try leaveDamagedQueue()
    disk.set([.init(.copy, code: ENOSPC, path: "restoration")])
    #expect(throws: SystemError.self) { try TransferStore.open(in: folder.path, disk: disk).close() }
    #expect(FileManager.default.fileExists(atPath: paths[1]) && !FileManager.default.fileExists(atPath: paths[0]))
    disk.set([])
    let store = try TransferStore.open(in: folder.path, disk: disk)
    #expect(try store.unfinishedHeads().count == 1)
    try store.close()
  }
}
