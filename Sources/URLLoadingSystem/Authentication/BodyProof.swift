import HTTPSemantics

/// The rest of a server's proof: its `rspauth` covers the body of the response (`auth-int`, RFC 7616 §3.5), or comes
/// behind it, among the trailer fields.
struct BodyProof {
  /// The hash that is to be made of the body.
  let hash: DigestHash
  /// Judges the hash of the whole body and the trailer fields, if there are any. Throws a `URLError` for another body than
  /// the proof covers, and for a proof that is wrong.
  let judge: (_ bodyHash: String, _ trailers: HTTPFields?) throws -> Void
}
