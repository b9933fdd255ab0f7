import Foundation
import GRDB
import SystemServices

/// Why a file to begin with can't be imported now, though nothing speaks against the file. It is imported later, so that its bytes
/// are not loaded again. A value.
enum ImportObstacle: Sendable, Equatable {
  /// - Parameter needed: 0 where that is not known.
  case noSpace(needed: Int64, available: Int64)
  /// The service's own folders or its queue can't be used.
  case storage(String)
  /// The machine is short of something, or the disk of the file alone fails.
  case passing(String)

  /// nil where the error says that the file can't be used.
  ///
  /// - Parameters:
  ///   - path: the file's.
  ///   - directory: the folder that has everything of the service.
  init?(_ error: any Error, importing path: String, in directory: String) {
    switch error {
    case let error as SpaceReckoning.Shortage: self = .noSpace(needed: error.needed, available: error.available)
    case let error as SystemError where error.isNoSpace: self = .noSpace(needed: 0, available: 0)
    case let error as SystemError where error.isTransient: self = .passing(Self.sentence(of: error))
    case let error as SystemError where error.path == path:
      // It is gone, closed to this user, or on a disk of the app.
      guard !error.isNotFound, ![EACCES, EPERM].contains(error.code),
        StorageFault.sentence(of: error, in: directory) != nil
      else { return nil }
      self = .passing(Self.sentence(of: error))
    default:
      if let sentence = StorageFault.sentence(of: error, in: directory) {
        self = .storage(sentence)
      } else if let error = error as? DatabaseError, error.isOfTheMachine {
        self = .passing(Self.sentence(of: error))
      } else {
        return nil
      }
    }
  }

  var reason: WaitingReason {
    switch self {
    case .noSpace(let needed, let available): .noSpace(needed: needed, available: available)
    case .storage(let sentence), .passing(let sentence): .storageUnavailable(because: sentence)
    }
  }

  private static func sentence(of error: any Error) -> String {
    "The file that the download begins with can't be imported now: \(error)."
  }
}
