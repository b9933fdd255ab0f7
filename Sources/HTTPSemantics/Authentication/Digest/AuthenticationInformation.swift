/// The Digest parameters of Authentication-Info and Proxy-Authentication-Info (RFC 7615 §3, RFC 7616 §3.5).
package struct AuthenticationInformation: Sendable, Equatable {
  /// `nextnonce`: the nonce for the next request.
  package let nextNonce: String?
  /// `rspauth`.
  let responseProof: String?
  let quality: String?
  let clientNonce: String?
  let count: String?

  /// - Parameters:
  ///   - fields: of a response; or its trailer fields, where the head had none.
  ///   - fromProxy: whether to read Proxy-Authentication-Info.
  /// - Returns: nil when there is no such field.
  package init?(_ fields: HTTPFields, fromProxy: Bool = false) {
    // RFC 7615 §3: one field; it is a list of parameters without a scheme.
    guard let value = fields.values(fromProxy ? "Proxy-Authentication-Info" : "Authentication-Info").first else {
      return nil
    }
    let parameters = ChallengeScanner.parameters(of: value)
    let next = parameters["nextnonce"]
    nextNonce = next.flatMap { $0.isEmpty || !FieldValidation.isFieldValue($0) ? nil : $0 }
    responseProof = parameters["rspauth"]
    quality = parameters["qop"]
    clientNonce = parameters["cnonce"]
    count = parameters["nc"]
  }
}
