import Foundation
import GRDB
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

@Suite struct QueueReserveTests {
  private let folder: TemporaryFolder
  private let disk = FaultyFileSystem()

  init() throws { folder = try TemporaryFolder() }

  private var reserve: QueueReserve { QueueReserve(directory: folder.path, disk: disk) }
  private var size: Int64? { try? disk.size(of: folder.path + "/reserve") }

  @Test func itTakesSpaceOnceAndGivesItBack() throws {
    try reserve.restore()
    #expect(size == 4 << 20)
    var status = stat()
    #expect(stat(folder.path + "/reserve", &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600 && status.st_blocks * 512 >= 4 << 20)
    try reserve.restore()
    #expect(reserve.release() && size == nil)
    #expect(!reserve.release())
  }

  @Test func itWaitsForRoom() throws {
    disk.setFreeSpace(1 << 20)
    try reserve.restore()
    #expect(size == nil)
    disk.setFreeSpace(64 << 20)
    try reserve.restore()
    #expect(size == 4 << 20)
  }

  @Test func aSmallDiskHasASmallOneThatGrows() throws {
    for (free, expected): (Int64, Int64) in [(2 << 20, 256 << 10), (16 << 20, 1 << 20), (30 << 20, 1 << 20)] {
      disk.setFreeSpace(free)
      try reserve.restore()
      #expect(size == expected)
    }
    disk.setFreeSpace(32 << 20)
    try reserve.restore()
    #expect(size == 4 << 20)
    // Bytes that are missing later are no reason to make it smaller.
    disk.setFreeSpace(4 << 20)
    try reserve.restore()
    #expect(size == 4 << 20)
  }

  /// Whether the reserve is given up for it.
  struct Failure: Sendable {
    let error: any Error
    let isFullDisk: Bool
  }

  static let failures = [
    Failure(error: DatabaseError(resultCode: .SQLITE_FULL), isFullDisk: true),
    Failure(error: DatabaseError(resultCode: .SQLITE_IOERR_WRITE), isFullDisk: true),
    Failure(error: DatabaseError(resultCode: .SQLITE_IOERR_SHMSIZE), isFullDisk: true),
    Failure(error: SystemError(ENOSPC, "write", path: "/queue"), isFullDisk: true),
    Failure(error: CocoaError(.fileWriteOutOfSpace), isFullDisk: true),
    Failure(error: DatabaseError(resultCode: .SQLITE_IOERR_READ), isFullDisk: false),
    Failure(error: DatabaseError(resultCode: .SQLITE_CORRUPT), isFullDisk: false),
    Failure(error: SystemError(EACCES, "open", path: "/queue"), isFullDisk: false),
    Failure(error: TransferStoreError.newerVersion("/queue"), isFullDisk: false),
  ]

  @Test(arguments: failures) func itIsGivenUpOnceForWhatNeedsSpace(failure: Failure) throws {
    try reserve.restore()
    var tries = 0
    func work() throws -> Int {
      tries += 1
      guard size == nil else { throw failure.error }
      return tries
    }
    if failure.isFullDisk {
      #expect(try reserve.makingRoom(work) == 2 && size == nil)
    } else {
      #expect(throws: (any Error).self) { try reserve.makingRoom(work) }
      #expect(tries == 1 && size == 4 << 20)
    }
    // There is none any more.
    #expect(reserve.release() == !failure.isFullDisk)
    tries = 0
    #expect(throws: (any Error).self) {
      try reserve.makingRoom {
        tries += 1
        throw failure.error
      }
    }
    #expect(tries == 1)
  }

  /// A queue that is gone is set aside first, of which a note is written.
  @Test func aQueueIsOpenedOnAFullDisk() throws {
    try TransferStore.open(in: folder.path, disk: disk).close()
    #expect(size == 4 << 20)
    try disk.remove("\(folder.path)/\(TransferStore.fileName)")
    try folder.leaveFile("partial/1")
    disk.setFreeSpace(0)
    disk.set([.init(.write, code: ENOSPC, path: "quarantine.json", times: 1)])
    let store = try TransferStore.open(in: folder.path, disk: disk)
    #expect(store.quarantine != nil && size == nil)
    try store.close()
  }

  @Test func aQueueHasOneAndMakesItAgain() throws {
    let store = try TransferStore.open(in: folder.path, disk: disk)
    #expect(size == 4 << 20)
    #expect(reserve.release())
    try store.copyIfChanged()
    #expect(size == 4 << 20)
    try store.close()
  }
}
