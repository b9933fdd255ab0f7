import Foundation
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
      "The queue of the transfer service can't be written: \(message(of: error))."
    default: nil
    }
  }

  /// Whether the storage may take later what it has refused with the error: it is full or can't be used, or the machine is short of
  /// something at the moment.
  static func mayPass(_ error: any Error, in directory: String) -> Bool {
    switch error {
    case is SpaceReckoning.Shortage: true
    case let error as SystemError where error.isNoSpace || error.isTransient: true
    default: sentence(of: error, in: directory) != nil
    }
  }

  /// The same of the start of a service: the reason why it can't begin now.
  static func sentence(ofStart error: any Error, in directory: String) -> String? {
    guard let error = error as? DatabaseError else { return sentence(of: error, in: directory) }
    guard codes.contains(error.resultCode) else { return nil }
    let path = "\(directory)/\(TransferStore.fileName)"
    var cause = message(of: error)
    // SQLite does not say why it can't open a file.
    if access(path, R_OK | W_OK) != 0, errno != ENOENT { cause = String(cString: strerror(errno)) }
    return "The queue of the transfer service, \(path), can't be opened: \(cause)."
  }

  /// The same of an error in reading.
  static func sentence(ofReading error: any Error, in directory: String) -> String? {
    guard let error = error as? DatabaseError, codes.contains(error.resultCode) else {
      return sentence(of: error, in: directory)
    }
    return "The queue of the transfer service can't be read: \(message(of: error))."
  }

  private static func message(of error: DatabaseError) -> String {
    error.message ?? "SQLite \(error.resultCode.rawValue)"
  }

  private static let codes: [ResultCode] = [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CANTOPEN]
}
