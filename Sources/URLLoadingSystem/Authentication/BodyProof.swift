import HTTPSemantics

/// The rest of a server's proof: its `rspauth` covers the body of the response (`auth-int`, RFC 7616 §3.5).
struct BodyProof {
  /// The hash that is to be made of the body.
  let hash: DigestHash
  /// Judges the hash of the whole body. Throws a `URLError` for another body than the proof covers.
  let judge: (String) throws -> Void
}
