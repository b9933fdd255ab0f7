/// A challenge of the Bearer scheme (RFC 6750 §3).
package struct BearerChallenge: Sendable, Equatable {
  /// Why the request was refused (RFC 6750 §3.1).
  package enum Fault: Sendable, Equatable {
    case invalidRequest
    /// The token is expired, revoked, malformed, or wrong in another way: the app may get a new one.
    case invalidToken
    /// The request needs more rights than the token gives.
    case insufficientScope
    case other(String)
  }

  /// nil when the challenge has none.
  package let realm: String?
  /// nil when the request had no token.
  package let error: Fault?
  /// `error_description`, for developers.
  package let errorDescription: String?
  /// `error_uri`.
  package let errorURI: String?
  /// The rights that are needed, in the order written.
  package let scope: [String]

  /// nil for a challenge of another scheme.
  package init?(_ challenge: AuthenticationChallenge) {
    guard challenge.scheme == "bearer" else { return nil }
    let parameters = challenge.parameters
    realm = challenge.realm
    error = parameters["error"].map {
      switch $0 {
      case "invalid_request": .invalidRequest
      case "invalid_token": .invalidToken
      case "insufficient_scope": .insufficientScope
      default: .other($0)
      }
    }
    errorDescription = parameters["error_description"]
    errorURI = parameters["error_uri"]
    scope = (parameters["scope"] ?? "").utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
  }
}
