/// The codes by which HTTP/3 ends streams and connections (RFC 9114 §8.1).
package struct HTTP3ErrorCode: RawRepresentable, Sendable, Hashable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static let noError = HTTP3ErrorCode(rawValue: 0x100)
  package static let internalError = HTTP3ErrorCode(rawValue: 0x102)
  package static let missingSettings = HTTP3ErrorCode(rawValue: 0x10a)
  package static let requestRejected = HTTP3ErrorCode(rawValue: 0x10b)
  package static let requestCancelled = HTTP3ErrorCode(rawValue: 0x10c)
  package static let messageError = HTTP3ErrorCode(rawValue: 0x10e)
  package static let versionFallback = HTTP3ErrorCode(rawValue: 0x110)

  package var name: String {
    switch self {
    case .noError: "H3_NO_ERROR"
    case .internalError: "H3_INTERNAL_ERROR"
    case .missingSettings: "H3_MISSING_SETTINGS"
    case .requestRejected: "H3_REQUEST_REJECTED"
    case .requestCancelled: "H3_REQUEST_CANCELLED"
    case .messageError: "H3_MESSAGE_ERROR"
    case .versionFallback: "H3_VERSION_FALLBACK"
    default: "code 0x\(String(rawValue, radix: 16))"
    }
  }

  /// The meaning for a request whose stream the server has reset.
  var transportError: TransportError {
    switch self {
    case .requestRejected: .notProcessed(reason: "the server refused the request for now")
    case .messageError: .malformedResponse(reason: "the message is malformed")
    case .versionFallback: .requiresHTTP1
    default: .connectionLost(reason: "the server ended the exchange with \(name)")
    }
  }
}
