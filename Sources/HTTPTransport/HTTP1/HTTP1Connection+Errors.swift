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

  /// Why no more comes after a write failed; nil when all that the peer sent has come.
  ///
  /// NIO closes the channel then, as if the input had ended in order, and tells the error to the writer only.
  static func endOfInput(afterFailedWrite error: any Error) -> TransportError? {
    // Other errors end writes that wait when the channel is closed: at the end of the input, or by its owner. The kernel
    // says EPIPE, and not ECONNRESET, of a connection whose peer closed its side in order before it reset it.
    guard let error = error as? IOError, error.errnoCode != EPIPE else { return nil }
    return describe(transportFailure: error)
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
