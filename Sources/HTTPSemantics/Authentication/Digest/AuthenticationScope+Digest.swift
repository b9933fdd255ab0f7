extension AuthenticationScope {
  /// The protection space of a server's Digest challenge (RFC 7616 §3.3): every URL that begins with one of those in
  /// `domain`, or the whole origin where the challenge has none.
  ///
  /// RFC 7616 lets `domain` name other origins. They are left out: a credential never leaves the origin that asked for
  /// it. A proxy's space is the entire proxy, so this is not asked for one.
  ///
  /// - Parameter url: the absolute URL of the request that was challenged; relative references are relative to it.
  /// - Returns: nil unless the URL is of http or https.
  package init?(_ challenge: DigestChallenge, at url: URIReference) {
    guard let origin = HTTPOrigin(url) else { return nil }
    guard !challenge.domain.isEmpty else {
      self.init(origin: origin, prefixes: ["/"])
      return
    }
    let members = challenge.domain.map { URIReference($0).resolved(against: url) }
    self.init(
      origin: origin, prefixes: Set(members.filter { HTTPOrigin($0) == origin }.map(AuthenticationScope.path)))
  }
}
