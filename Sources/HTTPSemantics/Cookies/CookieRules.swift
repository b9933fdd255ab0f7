/// The rules of where cookies may come from and go to (RFC 6265bis). Hosts and domains are given in lower case.
package enum CookieRules {
  /// §5.1.3: whether `host` is `domain` or lies below it. An address only matches itself.
  package static func domainMatches(host: String, domain: String) -> Bool {
    if host == domain { return true }
    return !domain.isEmpty && host.hasSuffix("." + domain) && !isAddress(host)
  }

  /// §5.1.4: the directory of the path a cookie came from.
  package static func defaultPath(of path: String) -> String {
    let bytes = path.utf8
    guard bytes.first == UInt8(ascii: "/"), let slash = bytes.lastIndex(of: UInt8(ascii: "/")),
      slash != bytes.startIndex
    else { return "/" }
    return String(path[..<slash])
  }

  /// §5.1.4: whether a cookie for `cookiePath` goes along with a request for `path`. Whole components only: `/foo`
  /// covers `/foo` and `/foo/bar`, not `/foobar`.
  package static func pathMatches(path: String, cookiePath: String) -> Bool {
    // Bytes: of strings, `/a` with an accent that follows is no prefix.
    guard path.utf8.count >= cookiePath.utf8.count, path.utf8.starts(with: cookiePath.utf8) else { return false }
    guard path.utf8.count > cookiePath.utf8.count, cookiePath.utf8.last != UInt8(ascii: "/") else { return true }
    return path.utf8.dropFirst(cookiePath.utf8.count).first == UInt8(ascii: "/")
  }

  /// §5.7 steps 8 to 10: which hosts a cookie of `host` is for.
  ///
  /// - Parameters:
  ///   - domain: The Domain attribute without its leading dot; nil where the cookie has none.
  ///   - suffixes: nil where no list of public suffixes is known. A cookie is then for no other host than its own.
  package static func scope(domain: String?, host: String, suffixes: (any PublicSuffixes)?) -> CookieScope {
    guard let domain else { return .host }
    // Step 8: a domain that is not ASCII is refused.
    guard domain.utf8.allSatisfy({ $0 < 0x80 }) else { return .refused }
    let isOwn = domain == host
    // Step 9: at a public suffix only the host itself, for itself alone. The same goes for addresses.
    if isAddress(domain) || !domain.utf8.contains(UInt8(ascii: ".")) || suffixes?.isPublicSuffix(domain) == true {
      return isOwn ? .host : .refused
    }
    // Step 10.
    guard domainMatches(host: host, domain: domain) else { return .refused }
    return suffixes == nil ? .host : .domain
  }

  /// §5.7 steps 21 to 23: `__Secure-` and `__Host-` at the head of a name promise how the cookie was set. A cookie
  /// without a name may not look like one of these when it is sent.
  /// - Parameter path: the Path attribute; nil where the cookie has none.
  package static func keepsPrefixPromise(
    name: String, value: String, isSecure: Bool, hasDomain: Bool, path: String?
  ) -> Bool {
    if name.isEmpty { return !hasPrefix(value, "__secure-") && !hasPrefix(value, "__host-") }
    if hasPrefix(name, "__secure-") { return isSecure }
    if hasPrefix(name, "__host-") { return isSecure && !hasDomain && path == "/" }
    return true
  }

  /// Whether two hosts belong to one site, whatever their schemes.
  package static func isSameSite(_ host: String, _ other: String, suffixes: (any PublicSuffixes)?) -> Bool {
    host == other
      || CookieSite(host: host, isSecure: true, suffixes: suffixes)
        == CookieSite(host: other, isSecure: true, suffixes: suffixes)
  }

  /// §5.8.3 and §5.6.7.1: whether a cookie with this policy goes along with a request of another site. Without a policy
  /// it does: see `Docs/Decisions/0090-cookies-and-sites.md`.
  /// - Parameter isSafeNavigation: Whether the request is a top-level navigation with a safe method.
  package static func isSentCrossSite(_ sameSite: SetCookie.SameSite?, isSafeNavigation: Bool) -> Bool {
    switch sameSite {
    case nil, SetCookie.SameSite.none?: true
    case .lax: isSafeNavigation
    case .strict: false
    }
  }

  /// §5.7 step 19: whether a cookie with this policy is taken from a response to a request of another site.
  package static func isStoredCrossSite(_ sameSite: SetCookie.SameSite?, isNavigation: Bool) -> Bool {
    switch sameSite {
    case nil, SetCookie.SameSite.none?: true
    case .lax, .strict: isNavigation
    }
  }

  /// The domains whose cookies `host` gets: itself alone (without a dot), and itself and each domain above it with all
  /// below them (with a leading dot).
  package static func scopes(for host: String) -> [String] {
    guard !isAddress(host) else { return [host] }
    var scopes = [host, "." + host]
    var rest = host.utf8[...]
    while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
      scopes.append(String(Substring(rest[dot...])))
      rest = rest[rest.index(after: dot)...]
    }
    return scopes
  }

  /// Whether `host` is an IPv4 or IPv6 address instead of a name. No top-level domain ends in a digit.
  package static func isAddress(_ host: String) -> Bool {
    if host.utf8.last?.isDigit == true, host.utf8.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") }) { return true }
    return host.utf8.contains(UInt8(ascii: ":"))
  }

  private static func hasPrefix(_ text: String, _ prefix: String) -> Bool {
    text.utf8.count >= prefix.utf8.count && asciiCaseInsensitiveEqual(text.prefix(utf8: prefix.utf8.count), prefix)
  }
}

extension String {
  /// The first bytes of the text.
  fileprivate func prefix(utf8 count: Int) -> Substring { Substring(utf8.prefix(count)) }
}
