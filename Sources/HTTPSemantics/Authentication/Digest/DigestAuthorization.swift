/// The answer of one request to a Digest challenge, and what is needed to judge the server's reply to it.
package struct DigestAuthorization: Sendable {
  /// The value of Authorization or Proxy-Authorization.
  package let fieldValue: String
  /// The server's nonce that was used.
  package var nonce: String { proof.nonce }

  let proof: DigestProof
  let quality: DigestQuality?

  /// Whether the server, or the proxy, knows the password too (RFC 7616 §3.5).
  ///
  /// - Parameters:
  ///   - information: of the response to this request; nil when the response has none.
  ///   - bodyHash: the hash of the response's body, `DigestHash.hex` or `DigestHasher`; needed only for `auth-int`.
  package func verdict(on information: AuthenticationInformation?, bodyHash: String? = nil) -> DigestVerdict {
    guard let information, let claimed = information.responseProof else { return .absent }
    // RFC 7616 §3.5: both must be those of the request. The proof covers them, also where they are left out.
    if let clientNonce = information.clientNonce, clientNonce != proof.clientNonce { return .invalid }
    if let count = information.count, !asciiCaseInsensitiveEqual(count, proof.count) { return .invalid }
    var quality = quality
    if let name = information.quality {
      // The server may choose another quality than the request had, but only where the request had one.
      guard quality != nil, let named = DigestQuality(rawValue: name.asciiLowercased()) else { return .invalid }
      quality = named
    }
    if quality == .integrity, bodyHash == nil { return .needsBodyHash }
    let expected = proof.value(method: "", quality: quality, bodyHash: bodyHash ?? "")
    return asciiCaseInsensitiveEqual(claimed, expected) ? .valid : .invalid
  }
}
