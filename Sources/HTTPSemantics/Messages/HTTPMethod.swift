/// The promise of a method about repeated requests (RFC 9110 §9.2).
package enum HTTPMethod {
  /// RFC 9110 §9.2.1: the request only reads.
  package static func isSafe(_ method: String) -> Bool {
    switch method {
    case "GET", "HEAD", "OPTIONS", "TRACE": true
    default: false
    }
  }

  /// RFC 9110 §9.2.2: several equal requests have the effect of one.
  package static func isIdempotent(_ method: String) -> Bool {
    switch method {
    case "PUT", "DELETE": true
    default: isSafe(method)
    }
  }
}
