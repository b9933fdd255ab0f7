/// Why a GSS-API context could not be established. No text holds a secret.
package enum GSSError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The call that failed.
  package enum Operation: String, Sendable {
    case naming = "the name was not accepted"
    case acquiring = "no credential"
    case establishing = "the context was not established"
  }

  /// The codes that the library reports (RFC 2744 §3.9), and its text for it.
  package struct Status: Sendable, Equatable {
    package let major: UInt32
    package let minor: UInt32
    package let text: String
  }

  /// libgssapi_krb5 is not installed.
  case unavailable
  case failed(Operation, Status)
  /// The key distribution center, or another part of the system, did not answer in time.
  case expired(Duration)
  /// The context is used up: it is complete, it failed, or another step of it runs.
  case notUsable

  /// The bits of a major status that tell of errors.
  static let errorMask: UInt32 = 0xffff_0000

  /// Whether there is nothing to prove an identity with: no ticket, an expired one, a password that is wrong.
  package var isMissingCredential: Bool {
    guard case .failed(_, let status) = self else { return false }
    // GSS_S_NO_CRED, GSS_S_CREDENTIALS_EXPIRED.
    return [7, 11].contains(status.major >> 16 & 0xff)
  }

  package var description: String {
    switch self {
    case .unavailable: "GSS-API is not available: libgssapi_krb5.so.2 is not installed"
    case .failed(let operation, let status): "GSS-API: \(operation.rawValue): \(status.text)"
    case .expired(let limit): "GSS-API: no answer within \(limit)"
    case .notUsable: "GSS-API: the context cannot go on"
    }
  }
}
