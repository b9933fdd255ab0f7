import Foundation
import GRDB
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

@Suite struct StorageFaultTests {
  @Test(arguments: [
    (ENOSPC, true), (EDQUOT, true), (EIO, true), (EROFS, true), (EACCES, true), (EPERM, true), (ENOENT, true),
    (ENOTDIR, true), (ESTALE, true), (ENOKEY, true), (EUCLEAN, true), (ENOTCONN, true), (ETIMEDOUT, true),
    (EFBIG, false), (EINVAL, false), (EMFILE, false), (ELOOP, false),
  ])
  func codesThatMayPassAreFaultsOfTheStorage(code: Int32, isFault: Bool) {
    #expect((StorageFault.sentence(of: SystemError(code, "open", path: "/s/partial/1"), in: "/s") != nil) == isFault)
    #expect(StorageFault.sentence(of: SystemError(code, "open", path: "/elsewhere/1"), in: "/s") == nil)
    #expect(StorageFault.sentence(of: SystemError(code, "open"), in: "/s") == nil)
  }

  /// A file that is longer than the file system allows is never taken.
  @Test(arguments: [
    (ENOSPC, true), (EDQUOT, true), (EIO, true), (EROFS, true), (EMFILE, true), (ENOMEM, true), (EAGAIN, true),
    (EFBIG, false), (EINVAL, false),
  ])
  func theStorageMayTakeLaterWhatItRefuses(code: Int32, mayPass: Bool) {
    #expect(StorageFault.mayPass(SystemError(code, "write", path: "/s/partial/1"), in: "/s") == mayPass)
  }

  @Test func aFullDiskAndABrokenQueueMayPass() {
    #expect(StorageFault.mayPass(SpaceReckoning.Shortage(needed: 2, available: 1), in: "/s"))
    #expect(StorageFault.mayPass(DatabaseError(resultCode: .SQLITE_IOERR), in: "/s"))
    #expect(!StorageFault.mayPass(DatabaseError(resultCode: .SQLITE_CONSTRAINT), in: "/s"))
    #expect(!StorageFault.mayPass(CancellationError(), in: "/s"))
  }

  @Test(
    arguments: [
      (.SQLITE_FULL, true), (.SQLITE_IOERR, true), (.SQLITE_READONLY, true), (.SQLITE_CANTOPEN, true),
      (.SQLITE_CONSTRAINT, false), (.SQLITE_CORRUPT, false),
    ] as [(ResultCode, Bool)])
  func aQueueThatCannotBeWrittenIsOneToo(code: ResultCode, isFault: Bool) {
    #expect((StorageFault.sentence(of: DatabaseError(resultCode: code), in: "/s") != nil) == isFault)
  }

  @Test(
    arguments: [
      (.SQLITE_FULL, true), (.SQLITE_IOERR, true), (.SQLITE_READONLY, true), (.SQLITE_CANTOPEN, true),
      (.SQLITE_NOTADB, false), (.SQLITE_CORRUPT, false), (.SQLITE_MISUSE, false),
    ] as [(ResultCode, Bool)])
  func aQueueThatCannotBeOpenedIsOneAtTheStart(code: ResultCode, isFault: Bool) {
    let error = DatabaseError(resultCode: code, message: "it is so")
    let sentence = StorageFault.sentence(ofStart: error, in: "/nowhere")
    #expect(
      sentence
        == (isFault ? "The queue of the transfer service, /nowhere/queue.sqlite, can't be opened: it is so." : nil))
  }

  /// SQLite says only that the file can't be opened.
  @Test func theStartSaysWhyTheSystemDoesNotOpenTheQueue() throws {
    let folder = try TemporaryFolder()
    try Data().write(to: URL(fileURLWithPath: folder.path + "/file"))
    let sentence = StorageFault.sentence(
      ofStart: DatabaseError(resultCode: .SQLITE_CANTOPEN), in: folder.path + "/file")
    #expect(sentence?.contains(String(cString: strerror(ENOTDIR))) == true, "\(sentence ?? "")")
  }

  @Test func aQueueThatCannotBeReadIsSaidToBeOne() throws {
    let sentence = try #require(
      StorageFault.sentence(ofReading: DatabaseError(resultCode: .SQLITE_IOERR, message: "disk I/O error"), in: "/s"))
    #expect(sentence == "The queue of the transfer service can't be read: disk I/O error.")
    #expect(StorageFault.sentence(ofReading: DatabaseError(resultCode: .SQLITE_CORRUPT), in: "/s") == nil)
    #expect(StorageFault.sentence(ofReading: SystemError(EIO, "open", path: "/s/partial/1"), in: "/s") != nil)
  }

  @Test func theQueueIsProbedByACommit() throws {
    let fixture = try StoreFixture()
    try fixture.store.probe()
  }

  @Test func aProbeLeavesNoFile() throws {
    let folder = try TemporaryFolder()
    let files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
    try files.probe(writing: 100)
    for directory in files.folders { #expect(try files.disk.names(in: directory) == []) }
  }

  @Test(arguments: ServiceNames.folders, [ENOENT, EACCES, EIO, EROFS, ESTALE])
  func aProbeFindsTheFaultOfEachFolder(name: String, code: Int32) throws {
    let (folder, disk) = (try TemporaryFolder(), FaultyFileSystem())
    let files = TransferFiles(directory: folder.path, disk: disk)
    try files.createDirectories()
    let path = "\(folder.path)/\(name)"
    if code == ENOENT {
      try FileManager.default.removeItem(atPath: path)
    } else {
      disk.set([.init(.open, code: code, path: "\(path)/")])
    }
    let error = #expect(throws: SystemError.self) { try files.probe() }
    #expect(error.map { $0.code == code && $0.path?.hasPrefix(path) == true } == true)
    disk.set([])
    try files.createDirectories()
    try files.probe()
  }
}
