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
    guard let value = fields.values(Self.name(fromProxy)).first else { return nil }
    let parameters = ChallengeScanner.parameters(of: value)
    let next = parameters["nextnonce"]
    nextNonce = next.flatMap { $0.isEmpty || !FieldValidation.isFieldValue($0) ? nil : $0 }
    responseProof = parameters["rspauth"]
    quality = parameters["qop"]
    clientNonce = parameters["cnonce"]
    count = parameters["nc"]
  }

  private static func name(_ fromProxy: Bool) -> String {
    fromProxy ? "Proxy-Authentication-Info" : "Authentication-Info"
  }

  /// Whether the head of a response says that the field follows its body (RFC 9110 §6.6.2, RFC 7615 §3).
  package static func isTrailer(announcedBy fields: HTTPFields, fromProxy: Bool = false) -> Bool {
    fields.values("Trailer").contains { value in
      value.split(separator: ",").contains {
        asciiCaseInsensitiveEqual(String($0).trimmingHTTPWhitespace(), name(fromProxy))
      }
    }
  }
}
