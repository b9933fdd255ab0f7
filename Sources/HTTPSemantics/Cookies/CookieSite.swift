/// The site of a host, as far as cookies are concerned (RFC 6265bis §5.2): its registrable domain and the scheme.
package struct CookieSite: Sendable, Hashable {
  package var isSecure: Bool
  /// The registrable domain; the host itself where that has none (an address, a public suffix) or where no list of
  /// public suffixes is known.
  package var domain: String

  /// - Parameter suffixes: nil where no list is known. Each host is then a site of its own.
  package init(host: String, isSecure: Bool, suffixes: (any PublicSuffixes)?) {
    self.isSecure = isSecure
    domain = CookieRules.isAddress(host) ? host : suffixes?.registrableDomain(of: host) ?? host
  }

  /// The site as text, for the name of a partition.
  package var text: String { (isSecure ? "https://" : "http://") + domain }
}
