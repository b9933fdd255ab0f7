import Foundation
import TransferProtocol

/// Failures of transfers in the background. What `get` has for them, `download` and `upload` may lack.
extension CommandFailure {
  /// The server answered a transfer with a status that is none of success, or with a part of what was asked for.
  ///
  /// - Parameter command: The one that begins such a transfer.
  static func http(status: Int, url: String, command: String) -> CommandFailure {
    let advice =
      status == 401 ? "start it again with the right name and password: `urlsession \(command) --user NAME`" : nil
    return http(status: status, url: url, advice: advice)
  }

  /// The transfer service gave the transfer up.
  ///
  /// - Parameters:
  ///   - transfer: Its number.
  ///   - command: The one that begins such a transfer.
  ///   - again: The one that begins this one again.
  static func givenUp(
    _ transfer: Int64, _ failure: TransferFailure?, command: String, again: String
  ) -> CommandFailure {
    var result = loading(
      domain: failure?.domain ?? "", code: failure?.code ?? 0, message: failure?.message ?? "it failed")
    let code = failure.flatMap { $0.domain == NSURLErrorDomain ? URLError.Code(rawValue: $0.code) : nil }
    result.advice = advice(for: code ?? .unknown, of: transfer, command: command, again: again) ?? result.advice
    return result
  }

  /// nil where a transfer in the background is advised as any other load.
  private static func advice(
    for code: URLError.Code, of transfer: Int64, command: String, again: String
  ) -> String? {
    let again = "start it again with `urlsession \(again)`"
    switch code {
    case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .secureConnectionFailed, .serverCertificateUntrusted,
      .serverCertificateHasBadDate, .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .unsupportedURL,
      .badURL, .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile, .cannotOpenFile, .cannotCreateFile,
      .cannotWriteToFile, .cannotMoveFile, .cannotCloseFile, .cannotDecodeContentData, .cancelled:
      return nil
    case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff: return "connect to a network, and \(again)"
    case .timedOut: return again
    case .clientCertificateRequired, .clientCertificateRejected:
      return "a transfer in the background shows no client certificate; ask who runs the server for another way in"
    case .userAuthenticationRequired:
      return "start it again with `urlsession \(command)` and the right name and password: --user NAME"
    default: return "see its tries with `urlsession show \(transfer)` and `urlsession log \(transfer)`, and \(again)"
    }
  }
}
