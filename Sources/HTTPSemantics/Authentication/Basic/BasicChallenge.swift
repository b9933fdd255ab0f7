/// A challenge of the Basic scheme (RFC 7617 §2).
package struct BasicChallenge: Sendable, Equatable {
  /// nil when the challenge has none: RFC 7617 §2 demands one, and servers leave it out.
  package let realm: String?
  /// Whether the server reads the credential as UTF-8. Every other value of `charset` is ignored (RFC 7617 §2.1).
  package let announcesUTF8: Bool

  package init(realm: String?, announcesUTF8: Bool = false) {
    self.realm = realm
    self.announcesUTF8 = announcesUTF8
  }

  /// nil for a challenge of another scheme.
  package init?(_ challenge: AuthenticationChallenge) {
    guard challenge.scheme == "basic" else { return nil }
    realm = challenge.realm
    announcesUTF8 = CredentialText.announcesUTF8(challenge)
  }
}
