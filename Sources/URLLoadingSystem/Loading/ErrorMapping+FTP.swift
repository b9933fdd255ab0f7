import Foundation
import HTTPSemantics

extension ErrorMapping {
  /// The codes for what FTP servers say. What they mean is read out of their replies by `FTPFailure`.
  static func code(of failure: FTPFailure) -> URLError.Code {
    switch failure {
    case .unavailable: .cannotConnectToHost
    case .notLoggedIn: .userAuthenticationRequired
    case .notFound: .fileDoesNotExist
    case .unprotected: .secureConnectionFailed
    case .forbidden: .noPermissionsToReadFile
    case .aborted, .truncated, .endedEarly: .networkConnectionLost
    case .unsuitable: .badServerResponse
    case .malformed(.notAReply): .cannotParseResponse
    case .malformed(.lineTooLong), .malformed(.replyTooLong): .dataLengthExceedsMaximum
    }
  }
}
