import Foundation
import SystemServices
import Testing
import URLLoadingSystem

@testable import TransferService

@Suite struct CopyFaultTests {
  private static let path = "/s/uploads/1"

  /// Only what may pass leaves the upload waiting.
  @Test(arguments: [
    (EIO, true), (ESTALE, true), (ENOTCONN, true), (EROFS, true), (EACCES, true), (ENOENT, true), (ENOMEM, true),
    (EMFILE, true), (EAGAIN, true), (EINVAL, false), (EBADF, false),
  ])
  func anErrorOfTheSystemIsTold(code: Int32, passes: Bool) {
    for kind in [URLError.Code.cannotOpenFile, .noPermissionsToReadFile, .fileDoesNotExist] {
      let error = ErrorMapping.make(kind, because: "It is so.", errno: code)
      #expect(
        CopyFault.passing(error, at: Self.path) == (passes ? SystemError(code, "read", path: Self.path) : nil))
      #expect(!CopyFault.isDamage(error))
    }
  }

  @Test func otherErrorsSayNothingOfTheCopy() {
    let others: [any Error] = [
      ErrorMapping.make(.networkConnectionLost, because: "It is so.", errno: EIO),
      ErrorMapping.make(.cannotOpenFile, because: "It is so."), SystemError(EIO, "read", path: Self.path),
    ]
    for error in others { #expect(CopyFault.passing(error, at: Self.path) == nil && !CopyFault.isDamage(error)) }
  }
}
