/// The key that tells the protection spaces of one server, or one proxy, from each other: the scheme is part of it, so
/// that a credential given for Digest is never sent for Basic.
package struct AuthenticationSpace: Sendable, Hashable {
  package let scheme: AuthenticationScheme
  package let realm: String

  package init(scheme: AuthenticationScheme, realm: String) {
    self.scheme = scheme
    self.realm = realm
  }
}
