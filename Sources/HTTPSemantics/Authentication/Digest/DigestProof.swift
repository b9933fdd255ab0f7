/// The computation of RFC 7616 §3.4.1: the same for the client's response and the server's `rspauth`.
struct DigestProof: Sendable {
  let hash: DigestHash
  /// H(A1).
  let secret: String
  let nonce: String
  /// Eight hexadecimal digits.
  let count: String
  let clientNonce: String
  let target: String

  /// - Parameters:
  ///   - method: empty in the server's (RFC 7616 §3.5).
  ///   - bodyHash: H of the body, where `quality` is `auth-int`.
  func value(method: String, quality: DigestQuality?, bodyHash: String) -> String {
    // RFC 7616 §3.4.3.
    let request = hash.hex("\(method):\(target)" + (quality == .integrity ? ":" + bodyHash : ""))
    // RFC 2069 §2.1.2 has no count and no client nonce.
    guard let quality else { return hash.hex("\(secret):\(nonce):\(request)") }
    return hash.hex("\(secret):\(nonce):\(count):\(clientNonce):\(quality.rawValue):\(request)")
  }
}
