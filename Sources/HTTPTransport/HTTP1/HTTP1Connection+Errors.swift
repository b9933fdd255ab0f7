import Glibc
import NIOCore
import NIOSSL

extension HTTP1Connection {
  /// A failure of the channel as the exchange on it gets it.
  static func describe(transportFailure error: any Error) -> TransportError {
    switch error {
    case let error as TransportError: error
    case NIOSSLError.uncleanShutdown:
      .connectionLost(reason: "the TLS connection ended without a closure alert, so the data may be cut short")
    case is NIOSSLError, is BoringSSLError: .connectionLost(reason: "TLS failed: \(TLSFailureText.reason(of: error))")
    case let error as IOError: .connectionLost(reason: String(cString: strerror(error.errnoCode)))
    default: .connectionLost(reason: "\(error)")
    }
  }
}

extension HTTP1ParseError {
  /// Framing faults never become data: each ends the exchange and the connection.
  var transportError: TransportError {
    switch self {
    case .headTooLarge, .tooManyFields, .tooManyInterimResponses, .chunkHeaderTooLarge, .trailersTooLarge:
      .responseTooLarge(reason: sentence)
    case .closedBeforeHead, .truncated: .connectionLost(reason: sentence)
    case .invalidStatusLine, .unsupportedVersion, .invalidFieldName, .invalidFieldValue, .framing, .invalidChunkSize,
      .chunkSizeTooLarge, .chunkOverrun:
      .malformedResponse(reason: sentence)
    }
  }
}
