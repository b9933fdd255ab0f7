import Foundation
import GRDB
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

/// Whether an error says that the disk of the queue is full.
@Suite struct ShortageProofTests {
  private let folder: TemporaryFolder
  private let disk = FaultyFileSystem()

  init() throws { folder = try TemporaryFolder() }

  private func isGiven(by error: any Error) -> Bool {
    ShortageProof(directory: folder.path, disk: disk, needed: 1 << 20).isGiven(by: error)
  }

  private static let full = DatabaseError(resultCode: .SQLITE_FULL)
  private static let write = DatabaseError(resultCode: .SQLITE_IOERR_WRITE)
  private static let shared = DatabaseError(resultCode: .SQLITE_IOERR_SHMSIZE)

  @Test func anErrorThatNamesItIsEnough() {
    #expect(isGiven(by: Self.full))
    #expect(isGiven(by: SystemError(ENOSPC, "write")) && isGiven(by: SystemError(EDQUOT, "write")))
    #expect(isGiven(by: CocoaError(.fileWriteOutOfSpace)))
    #expect(disk.log == [])
    #expect(!isGiven(by: SystemError(EIO, "write")) && !isGiven(by: DatabaseError(resultCode: .SQLITE_CORRUPT)))
  }

  /// What writing some bytes says of the disk.
  struct Trial: Sendable {
    var operation: FaultyFileSystem.Operation?
    var code: Int32 = 0
    var free: Int64?
    let isFull: Bool
  }

  static let trials = [
    Trial(isFull: false), Trial(free: 1 << 20, isFull: false), Trial(free: 1000, isFull: true),
    Trial(operation: .open, code: ENOSPC, isFull: true), Trial(operation: .open, code: EROFS, isFull: false),
    Trial(operation: .write, code: EDQUOT, isFull: true), Trial(operation: .write, code: EIO, isFull: false),
    Trial(operation: .sync, code: ENOSPC, isFull: true), Trial(operation: .sync, code: ESTALE, isFull: false),
    Trial(operation: .sync, code: EIO, free: 1000, isFull: false),
  ]

  @Test(arguments: trials) func aFailedWriteOfTheQueueIsTriedOnTheDisk(trial: Trial) throws {
    disk.setFreeSpace(trial.free)
    if let operation = trial.operation { disk.set([.init(operation, code: trial.code)]) }
    #expect(isGiven(by: Self.write) == trial.isFull && isGiven(by: Self.shared) == trial.isFull)
    #expect(try disk.names(in: folder.path) == [])
  }

  /// What is removed here makes no room there.
  @Test func theDiskOfALinkedQueueIsAnotherOne() throws {
    #expect(symlink("/elsewhere/queue.sqlite", "\(folder.path)/\(TransferStore.fileName)") == 0)
    #expect(!isGiven(by: Self.full))
    disk.set([.init(.write, code: ENOSPC)])
    #expect(isGiven(by: Self.full))
  }
}
