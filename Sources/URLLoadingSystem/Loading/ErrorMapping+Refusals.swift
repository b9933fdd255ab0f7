import Foundation

extension ErrorMapping {
  /// Whether a load failed because this side or the app refused to go on, or was refused: not by a fault of a server or a
  /// network.
  static func isRefusal(_ error: any Error) -> Bool {
    switch urlError(error, url: nil).code {
    case .cancelled, .userCancelledAuthentication, .userAuthenticationRequired, .secureConnectionFailed,
      .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
      .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired,
      .appTransportSecurityRequiresSecureConnection:
      true
    default: false
    }
  }
}
