import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// The one table of causes and codes: what the app sees when something below it failed.
/// `Docs/Errors.md` says the same in words.
package enum ErrorMapping {
  package static func urlError(_ error: any Error, url: URL?) -> URLError {
    let mapped = urlError(error)
    // The text of an error has all that is in it.
    guard let url = url?.withoutPassword, mapped.userInfo[NSURLErrorFailingURLErrorKey] == nil else { return mapped }
    var userInfo = mapped.userInfo
    userInfo[NSURLErrorFailingURLErrorKey] = url
    // Deprecated, and still read by much code: NSURLErrorFailingURLStringErrorKey.
    userInfo["NSErrorFailingURLStringKey"] = url.absoluteString
    return URLError(mapped.code, userInfo: userInfo)
  }

  /// The error of a task: a `URLError`, or what a custom protocol failed with.
  static func taskError(_ error: any Error, url: URL?) -> any Error {
    if let failure = error as? ProtocolFailure { return failure.told(for: url) }
    return urlError(error, url: url)
  }

  private static func urlError(_ error: any Error) -> URLError {
    switch error {
    case let error as URLError: error
    case let failure as ProtocolFailure: urlError(failure.told(for: nil))
    case TransportError.refused(let reason): urlError(reason)
    case TransportError.proxyFailed(let failure): proxyError(failure)
    case TransportError.networkForbidden(let traits): forbiddenNetwork(traits)
    case TransportError.tlsHandshakeFailed(.library(let failure)):
      make(.secureConnectionFailed, because: sentence(of: .tlsHandshakeFailed(.library(failure))), underlying: failure)
    case let error as TransportError: make(code(of: error), because: sentence(of: error))
    case let error as FTPFailure: make(code(of: error), because: error.phrase + ".")
    case let error as WebSocketViolation:
      make(code(of: error), because: "The WebSocket connection was closed, because \(error.sentence).")
    case is CancellationError: cancelled
    default: URLError(.unknown, userInfo: [NSUnderlyingErrorKey: error, NSLocalizedDescriptionKey: "\(error)"])
    }
  }

  /// A load that was cancelled. Its `localizedDescription` is "cancelled", as on Apple's systems: programs compare it.
  package static let cancelled = make(.cancelled, because: "cancelled")

  /// The limit for the whole resource has passed.
  static let resourceTimeout = make(
    .timedOut,
    because:
      "\(wholeLimitPassed). Set a longer timeoutIntervalForResource of the session's configuration, or load less "
      + "at a time.")

  /// How the sentence begins that tells of the limit for the whole resource. The command line has options for the limits, and
  /// names them in place of what follows.
  package static let wholeLimitPassed = "The load took longer than it may take as a whole"

  /// How the sentence begins that tells of the limit for the time without progress.
  package static let idleLimitPassed = "No byte was sent or received"

  /// The limit for the time without progress has passed.
  static func idleTimeout(_ limit: TimeAmount?) -> URLError {
    let seconds = limit.map { " for \(Double($0.nanoseconds) / 1e9) seconds" } ?? ""
    return make(
      .timedOut,
      because:
        "\(idleLimitPassed)\(seconds). Set a longer timeoutInterval of the request, or else timeoutIntervalForRequest of "
        + "the session's configuration, or have the server answer sooner.")
  }

  package static func make(_ code: URLError.Code, because sentence: String) -> URLError {
    URLError(code, userInfo: [NSLocalizedDescriptionKey: sentence])
  }

  /// A request that may be answered from the cache alone, where nothing is stored that may answer.
  static var nothingStored: URLError {
    make(
      .resourceUnavailable, because: "Nothing is stored for the request, and it may not be sent.",
      underlying: URLError(.cannotLoadFromNetwork))
  }

  /// - Parameter number: The system's, which the error has in `NSPOSIXErrorDomain` under it.
  package static func make(_ code: URLError.Code, because sentence: String, errno number: Int32) -> URLError {
    make(code, because: sentence, underlying: NSError(domain: NSPOSIXErrorDomain, code: Int(number)))
  }

  /// - Parameter underlying: An error with the words of a library, which are no part of the sentence.
  package static func make(_ code: URLError.Code, because sentence: String, underlying: any Error) -> URLError {
    URLError(code, userInfo: [NSLocalizedDescriptionKey: sentence, NSUnderlyingErrorKey: underlying])
  }

  private static func code(of error: WebSocketViolation) -> URLError.Code {
    switch error {
    case .messageTooBig: .dataLengthExceedsMaximum
    default: .cannotParseResponse
    }
  }

  private static func code(of error: TransportError) -> URLError.Code {
    switch error {
    case .hostNotFound: .cannotFindHost
    case .cannotConnect, .cannotConnectToSocket: .cannotConnectToHost
    case .networkUnreachable, .networkForbidden: .notConnectedToInternet
    case .proxyFailed(let failure): code(of: failure)
    case .unprovenName: .dnsLookupFailed
    case .closedBeforeResponse, .connectionLost, .notProcessed, .requiresHTTP1: .networkConnectionLost
    case .noSettings: .timedOut
    case .malformedResponse: .cannotParseResponse
    case .responseTooLarge: .dataLengthExceedsMaximum
    case .invalidRequest: .badURL
    case .shutDown: .cancelled
    case .refused: .secureConnectionFailed
    case .tlsHandshakeFailed(let failure):
      switch failure {
      case .untrustedRoot, .wrongHost: .serverCertificateUntrusted
      case .expired: .serverCertificateHasBadDate
      case .notYetValid: .serverCertificateNotYetValid
      case .clientCertificateRequired: .clientCertificateRequired
      case .clientCertificateRejected: .clientCertificateRejected
      case .library, .other: .secureConnectionFailed
      }
    }
  }

  private static func sentence(of error: TransportError) -> String {
    let text = phrase(of: error)
    return text.hasSuffix(".") ? text : text + "."
  }

  private static func phrase(of error: TransportError) -> String {
    switch error {
    case .hostNotFound(let host, let reason): "A server with the name \(host) could not be found: \(reason)"
    case .cannotConnect(let host, let port, let reason): "Could not connect to \(host), port \(port): \(reason)"
    case .cannotConnectToSocket(let path, let reason): "Could not connect to the socket \(path): \(reason)"
    case .proxyFailed(let failure): failure.phrase
    case .unprovenName(let host, let reason): "The address of \(host) could not be proven with DNSSEC: \(reason)"
    case .networkForbidden(let traits): phrase(ofForbidden: traits)
    case .networkUnreachable: "There is no route to the network."
    case .closedBeforeResponse: "The server closed the connection before it answered."
    case .connectionLost(let reason): "The connection was lost: \(reason)"
    case .noSettings: "The server agreed on HTTP/2 or HTTP/3 and did not begin it: its SETTINGS did not come."
    case .malformedResponse(let reason): "The response could not be understood: \(reason)"
    case .responseTooLarge(let reason): "The response is beyond the limits: \(reason)"
    case .invalidRequest(let reason): "The request can't be sent: \(reason)"
    case .notProcessed(let reason, _): "The server did not take the request: \(reason)"
    case .requiresHTTP1: "The server answers the request over HTTP/1.1 only."
    case .shutDown: "The session was invalidated."
    case .refused(let reason): "The connection was refused: \(reason)"
    case .tlsHandshakeFailed(let failure): "A secure connection could not be made: \(sentence(of: failure))"
    }
  }

  private static func sentence(of failure: TransportError.TLSFailure) -> String {
    switch failure {
    case .untrustedRoot: "the server's certificate is not signed by a trusted authority, or is not valid today"
    case .wrongHost: "the server's certificate is for another host"
    case .expired: "the server's certificate has expired"
    case .notYetValid: "the server's certificate is not valid yet"
    case .clientCertificateRequired: "the server insists on a client certificate"
    case .clientCertificateRejected: "the server does not accept the client certificate"
    case .library(let failure): sentence(of: failure.kind)
    case .other(let text): text
    }
  }

  private static func sentence(of kind: TLSLibraryFailure.Kind) -> String {
    switch kind {
    case .connectionEnded: "the server ended the connection during the TLS handshake"
    case .notTLS: "the server does not speak TLS on this port"
    case .noCommonVersion: "the server speaks no version of TLS that this session allows"
    case .noCommonParameters: "the server accepts none of the TLS settings that this session offers"
    case .unknownName: "the server serves no host of this name"
    case .timedOut: "the server did not answer the TLS handshake"
    case .unknown: "the TLS handshake failed"
    }
  }
}
