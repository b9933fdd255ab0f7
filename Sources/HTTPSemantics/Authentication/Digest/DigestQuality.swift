/// The parts of a message that a Digest response covers: `qop` (RFC 7616 §3.3). A challenge without one follows RFC
/// 2069.
package enum DigestQuality: String, Sendable, Hashable {
  /// Method and target.
  case authentication = "auth"
  /// The body too.
  case integrity = "auth-int"
}
