import HTTPSemantics
import HTTPTransport

/// A protocol that a load asks its connection to change to (RFC 9110 §7.8), or a stream of it (RFC 8441), on every hop
/// and every attempt.
package struct ProtocolUpgrade: Sendable {
  /// The value of Upgrade or `:protocol`.
  package let name: String
  /// The fields that ask for it, beside those of the request. Asked for each attempt: a nonce is used once.
  package let fields: @Sendable (_ request: HTTPFields, _ change: ProtocolChange) -> HTTPFields

  package init(
    name: String, fields: @escaping @Sendable (_ request: HTTPFields, _ change: ProtocolChange) -> HTTPFields
  ) {
    self.name = name
    self.fields = fields
  }
}
