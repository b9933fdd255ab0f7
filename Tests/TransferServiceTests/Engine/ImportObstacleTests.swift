import Foundation
import GRDB
import SystemServices
import Testing

@testable import TransferService

/// Errors of an import that say nothing against the file.
@Suite struct ImportObstacleTests {
  private static let file = "/s/delivery/7.A.resume"

  private func obstacle(_ error: any Error, importing path: String = ImportObstacleTests.file) -> ImportObstacle? {
    ImportObstacle(error, importing: path, in: "/s")
  }

  private func sentence(_ error: any Error) -> String {
    "The file that the download begins with can't be imported now: \(error)."
  }

  @Test func aFullDiskIsOne() {
    let shortage = SpaceReckoning.Shortage(needed: 5, available: 1)
    #expect(obstacle(shortage) == .noSpace(needed: 5, available: 1))
    for code in [ENOSPC, EDQUOT] {
      let error = SystemError(code, "write", path: "/s/partial/7.import")
      #expect(obstacle(error) == .noSpace(needed: 0, available: 0))
    }
    #expect(obstacle(shortage)?.reason == .noSpace(needed: 5, available: 1))
  }

  @Test(
    arguments: [EMFILE, ENFILE, ENOMEM],
    ["/s/partial/7.import", file, "/elsewhere/urlsession-1/x.tmp", nil] as [String?])
  func soIsAMachineThatIsShortOfSomething(code: Int32, path: String?) {
    let error = SystemError(code, "open", path: path)
    #expect(obstacle(error) == .passing(sentence(error)))
    #expect(obstacle(error)?.reason == .storageUnavailable(because: sentence(error)))
  }

  @Test(arguments: [EIO, EROFS, ESTALE, ENOENT, EACCES])
  func soAreTheFoldersOfTheService(code: Int32) throws {
    for path in ["/s/partial/7", "/s/delivery"] {
      let error = SystemError(code, "open", path: path)
      let expected = try #require(StorageFault.sentence(of: error, in: "/s"))
      #expect(obstacle(error) == .storage(expected))
      #expect(obstacle(error)?.reason == .storageUnavailable(because: expected))
    }
  }

  @Test(
    arguments: [
      (.SQLITE_FULL, true), (.SQLITE_IOERR, true), (.SQLITE_READONLY, true), (.SQLITE_CANTOPEN, true),
      (.SQLITE_BUSY, false), (.SQLITE_NOMEM, false), (.SQLITE_INTERRUPT, false),
    ] as [(ResultCode, Bool)])
  func soIsAQueueThatCanNotBeWritten(code: ResultCode, isOfStorage: Bool) throws {
    let error = DatabaseError(resultCode: code, message: "it is so")
    if isOfStorage {
      #expect(obstacle(error) == .storage(try #require(StorageFault.sentence(of: error, in: "/s"))))
    } else {
      #expect(obstacle(error) == .passing(sentence(error)))
    }
  }

  /// No other transfer waits for the disk because of it.
  @Test(arguments: [EIO, ESTALE]) func soIsTheDiskOfAFileThatTheServiceMade(code: Int32) {
    let error = SystemError(code, "openat", path: Self.file)
    #expect(obstacle(error) == .passing(sentence(error)))
  }

  @Test(arguments: [ENOENT, ENOTDIR, EACCES, EPERM, ELOOP, EINVAL]) func aFileThatCanNotBeUsedIsNone(code: Int32) {
    #expect(obstacle(SystemError(code, "openat", path: Self.file)) == nil)
  }

  @Test(arguments: [ENOENT, EIO, ESTALE, EACCES]) func noneIsTheFileSystemOfAnApp(code: Int32) {
    let path = "/elsewhere/urlsession-1/x.tmp"
    #expect(obstacle(SystemError(code, "openat", path: path), importing: path) == nil)
    // Its bytes can't be read.
    #expect(obstacle(SystemError(code, "read"), importing: path) == nil)
  }

  @Test func othersAreNone() {
    #expect(obstacle(ResumeFile.NotOurs(path: Self.file)) == nil)
    #expect(obstacle(DatabaseError(resultCode: .SQLITE_CONSTRAINT)) == nil)
  }
}
