#if HTTP3
import CQUIC

/// Why a QUIC connection can't go on.
struct QUICFailure: Error, Sendable {
  enum Kind: Sendable, Equatable {
    /// The handshake of TLS failed; the code is the alert's number (RFC 8446 §6).
    case tls
    /// The server ended it with a code of QUIC (RFC 9000 §20.1).
    case closedByTransport
    /// The server ended it with a code of HTTP/3 (RFC 9114 §8.1).
    case closedByApplication
    /// Nothing came for too long.
    case silent
    /// The server broke the protocol.
    case protocolViolation
    /// The server has forgotten the connection (RFC 9000 §10.3).
    case forgotten
    /// The system finds nothing there, or no way.
    case unreachable
    /// It was closed from here.
    case closed
    case outOfMemory
  }

  let kind: Kind
  let code: UInt64
  let text: String

  init(kind: Kind, code: UInt64, text: String) {
    self.kind = kind
    self.code = code
    self.text = text
  }

  init(_ failure: cquic_failure) {
    kind =
      switch failure.kind {
      case CQUIC_TLS: .tls
      case CQUIC_CLOSED_BY_TRANSPORT: .closedByTransport
      case CQUIC_CLOSED_BY_APPLICATION: .closedByApplication
      case CQUIC_SILENT: .silent
      case CQUIC_PROTOCOL: .protocolViolation
      case CQUIC_FORGOTTEN: .forgotten
      case CQUIC_OUT_OF_MEMORY: .outOfMemory
      default: .closed
      }
    code = failure.code
    text = withUnsafeBytes(of: failure.text) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// The meaning for a connection whose server has asked who the client is: in TLS 1.3 it refuses the answer behind the
  /// handshake. nil when the failure has nothing to do with certificates.
  func certificateCause(_ use: ClientCertificateUse) -> TransportError? {
    // RFC 9001 §4.8: an alert as a code of QUIC.
    guard use != .notWanted, kind == .closedByTransport, (0x100...0x1ff).contains(code),
      QUICFailure.certificateAlerts.contains(code & 0xff)
    else { return nil }
    return .tlsHandshakeFailed(use == .sent ? .clientCertificateRejected : .clientCertificateRequired)
  }

  /// Those that refuse a certificate or want another (RFC 8446 §6.2).
  private static let certificateAlerts: Set<UInt64> = [40, 42, 43, 44, 45, 46, 48, 49, 51, 116]

  /// For the requests that were under way.
  var transportError: TransportError {
    switch kind {
    case .protocolViolation: .malformedResponse(reason: "the server broke the protocol (\(text))")
    case .closedByApplication, .closedByTransport:
      code == HTTP3ErrorCode.versionFallback.rawValue && kind == .closedByApplication
        ? .requiresHTTP1
        : .connectionLost(reason: "the server ended the connection with code \(code)\(text.isEmpty ? "" : ": \(text)")")
    case .silent: .connectionLost(reason: "the server no longer answers")
    default: .connectionLost(reason: text)
    }
  }
}
#endif
