/// How a server's `rspauth` was judged (RFC 7616 §3.5).
package enum DigestVerdict: Sendable, Equatable {
  /// The response has none. That is allowed, and proves nothing.
  case absent
  /// The server knows the password.
  case valid
  /// The server does not know the password, or the response belongs to another request.
  case invalid
  /// The response covers its body: ask again with the body's hash.
  case needsBodyHash
}
