/// A user name and a password for a GSS-API context, in the place of the user's ticket cache.
package struct GSSCredential: Sendable {
  /// `user`, `user@REALM` or, for NTLM, `DOMAIN\user`.
  package let user: String
  package let password: SecretBytes

  package init(user: String, password: SecretBytes) {
    self.user = user
    self.password = password
  }
}
