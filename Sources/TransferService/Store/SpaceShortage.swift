import Foundation
import GRDB
import SystemServices

/// Errors that say that the disk, or the user's share of it, is full. They come from SQLite, from system calls and from
/// Foundation.
enum SpaceShortage {
  static func isCause(of error: any Error) -> Bool {
    switch error {
    case let error as DatabaseError: error.isShortOfSpace
    case let error as SystemError: error.isNoSpace
    case let error as CocoaError: error.code == .fileWriteOutOfSpace
    default: false
    }
  }
}

extension DatabaseError {
  /// A quota that is reached shows as a failed write, and a full disk also when the file that readers share can't grow. Either may
  /// have another cause; see `ShortageProof`.
  var isShortOfSpace: Bool {
    resultCode == .SQLITE_FULL || [.SQLITE_IOERR_WRITE, .SQLITE_IOERR_SHMSIZE].contains(extendedResultCode)
  }
}
