/// The rules of where cookies may come from and go to (RFC 6265bis). Hosts and domains are given in lower case.
package enum CookieRules {
  /// §5.1.3: whether `host` is `domain` or lies below it. An address only matches itself.
  package static func domainMatches(host: String, domain: String) -> Bool {
    if host == domain { return true }
    return !domain.isEmpty && host.hasSuffix("." + domain) && !isAddress(host)
  }

  /// §5.1.4: the directory of the path a cookie came from.
  package static func defaultPath(of path: String) -> String {
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  /// §5.1.4: whether a cookie for `cookiePath` goes along with a request for `path`. Whole components only: `/foo`
  /// covers `/foo` and `/foo/bar`, not `/foobar`.
  package static func pathMatches(path: String, cookiePath: String) -> Bool {
    if path == cookiePath { return true }
    guard path.hasPrefix(cookiePath) else { return false }
    return cookiePath.hasSuffix("/") || path.utf8.dropFirst(cookiePath.utf8.count).first == UInt8(ascii: "/")
  }

  /// §5.7 step 5 in its simplest form: a domain of one label, such as `com`, may not be set as the domain of a cookie.
  package static func isPublicSuffix(_ domain: String) -> Bool { !domain.contains(".") }

  /// §5.7: which hosts a cookie that came from `host` is for.
  /// - Returns: the host alone, or a domain with a leading dot that stands for it and everything below; nil when the
  ///   cookie must be ignored.
  package static func scope(domainAttribute: String?, host: String) -> String? {
    guard let domain = domainAttribute else { return host }
    // Step 4: a domain that is not ASCII is refused.
    guard domain.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    // Step 5: at a public suffix only the host itself, for itself alone. The same goes for addresses.
    if isPublicSuffix(domain) || isAddress(domain) { return domain == host ? host : nil }
    // Step 6.
    return domainMatches(host: host, domain: domain) ? "." + domain : nil
  }

  /// §5.7 steps 20 and 21: `__Secure-` and `__Host-` at the head of a name promise how the cookie was set.
  package static func keepsPrefixPromise(name: String, isSecure: Bool, hasDomain: Bool, path: String?) -> Bool {
    let name = name.asciiLowercased()
    if name.hasPrefix("__secure-") { return isSecure }
    if name.hasPrefix("__host-") { return isSecure && !hasDomain && path == "/" }
    return true
  }

  /// Whether two hosts belong to one site: one of them is, or lies below, the other.
  package static func isSameSite(_ host: String, _ other: String) -> Bool {
    domainMatches(host: host, domain: other) || domainMatches(host: other, domain: host)
  }

  /// The domains whose cookies `host` gets, in the form that `scope` returns: itself, and each domain above it.
  package static func scopes(for host: String) -> [String] {
    guard !isAddress(host) else { return [host] }
    var scopes = [host, "." + host]
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
      scopes.append(String(rest[dot...]))
      rest = rest[rest.index(after: dot)...]
    }
    return scopes
  }

  /// Whether `host` is an IPv4 or IPv6 address instead of a name. No top-level domain ends in a digit.
  package static func isAddress(_ host: String) -> Bool {
    if host.utf8.contains(UInt8(ascii: ":")) { return true }
    return host.utf8.last?.isDigit == true && host.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
  }
}
