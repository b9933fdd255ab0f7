/// Knows the domains below which names are registered by anyone, such as `com`, `co.uk` or `github.io`
/// (RFC 6265bis §5.3.3, publicsuffix.org). Names are given in lower case, other scripts in Punycode.
package protocol PublicSuffixes: Sendable {
  /// Whether `domain` is such a domain. A domain of one label always is.
  func isPublicSuffix(_ domain: String) -> Bool
  /// The public suffix that `host` ends in with one label more; nil when `host` has no more.
  func registrableDomain(of host: String) -> String?
}
