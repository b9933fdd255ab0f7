/// The algorithm of a Digest challenge: a hash function, and what A1 is made of (RFC 7616 §3.4.2).
package struct DigestAlgorithm: Sendable, Hashable {
  package let hash: DigestHash
  /// Whether A1 also has the first nonce and the first client nonce (`-sess`).
  package let isSession: Bool

  package init(hash: DigestHash, isSession: Bool = false) {
    self.hash = hash
    self.isSession = isSession
  }

  /// nil for a name that is not known. Case is ignored (RFC 7616 §3.3).
  package init?(_ name: String) {
    var name = name.asciiLowercased()
    isSession = name.hasSuffix("-sess")
    if isSession { name.removeLast("-sess".count) }
    switch name {
    case "md5": hash = .md5
    case "sha-256": hash = .sha256
    case "sha-512-256": hash = .sha512_256
    default: return nil
    }
  }
}
