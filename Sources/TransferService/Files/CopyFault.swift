import Foundation
import SystemServices

/// Errors in reading the service's own copy of a file to send.
enum CopyFault {
  /// The error of the system, where it says nothing against the upload: that of the storage, or of a machine that is short of
  /// something at the moment. nil for every other one.
  ///
  /// - Parameter path: The copy.
  static func passing(_ error: any Error, at path: String) -> SystemError? {
    guard let error = error as? URLError, codes.contains(error.code),
      let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError, cause.domain == NSPOSIXErrorDomain
    else { return nil }
    let fault = SystemError(Int32(truncatingIfNeeded: cause.code), "read", path: path)
    return fault.isStorageFault || fault.isTransient ? fault : nil
  }

  /// Whether a sealed copy is not what was written.
  static func isDamage(_ error: any Error) -> Bool {
    (error as? URLError)?.userInfo[NSUnderlyingErrorKey] is SealedChunks.Damaged
  }

  private static let codes: [URLError.Code] = [.cannotOpenFile, .noPermissionsToReadFile, .fileDoesNotExist]
}
