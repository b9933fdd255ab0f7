import GRDB
import SystemServices

/// Errors that say that the service's own folders or its queue can't be used now: a disk that is gone, read-only or broken.
/// They say nothing against a transfer, which waits until they are over.
enum StorageFault {
  /// The reason for people; nil when the error says something else.
  /// - Parameter directory: the folder that has everything of the service.
  static func sentence(of error: any Error, in directory: String) -> String? {
    switch error {
    case let error as SystemError where error.isStorageFault && error.path?.hasPrefix(directory) == true:
      "The folder of the transfer service can't be used: \(error)."
    case let error as DatabaseError where codes.contains(error.resultCode):
      "The queue of the transfer service can't be written: \(error.message ?? "SQLite \(error.resultCode.rawValue)")."
    default: nil
    }
  }

  private static let codes: [ResultCode] = [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CANTOPEN]
}
