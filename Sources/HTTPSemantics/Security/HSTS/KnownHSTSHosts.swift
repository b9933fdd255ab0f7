/// The hosts that are to be talked to over TLS only, because they said so (RFC 6797 §8). A value: the time is passed in,
/// in seconds since 1970.
///
/// Names are compared as ASCII (RFC 6797 §8.2): the host of an internationalized URL is passed in its `xn--` form.
package struct KnownHSTSHosts: Sendable, Equatable {
  struct Policy: Sendable, Equatable {
    var includesSubdomains: Bool
    var expiry: Int64
  }

  private(set) var policies: [String: Policy] = [:]
  /// How many hosts are kept unless the owner says otherwise.
  package static let defaultLimit = 10_000

  /// How many hosts are kept.
  package let limit: Int

  package init(limit: Int = KnownHSTSHosts.defaultLimit) { self.limit = max(0, limit) }

  package var isEmpty: Bool { policies.isEmpty }
  package var count: Int { policies.count }

  /// Notes what a response says. Only to be called for a response over TLS whose certificate was not doubted: RFC 6797
  /// §8.1 has a policy ignored that came over a connection with an error.
  ///
  /// - Parameters:
  ///   - host: of the request's URL. An IP address is never noted (RFC 6797 §8.1.1), a name of one label is.
  /// - Returns: whether anything changed that is worth storing.
  package mutating func note(_ fields: HTTPFields, from host: String, at now: Int64) -> Bool {
    guard let said = StrictTransportSecurity(fields) else { return false }
    return note(said, from: host, at: now)
  }

  package mutating func note(_ said: StrictTransportSecurity, from host: String, at now: Int64) -> Bool {
    guard let name = HSTSHostName.normalized(host) else { return false }
    // RFC 6797 §6.1.1: the host itself is forgotten; a policy of a domain above it still counts.
    guard said.maxAge > 0 else { return policies.removeValue(forKey: name) != nil }
    let (expiry, overflow) = now.addingReportingOverflow(said.maxAge)
    let policy = Policy(includesSubdomains: said.includesSubdomains, expiry: overflow ? .max : expiry)
    guard policies[name] != policy else { return false }
    if policies[name] == nil, policies.count >= limit { removeOne(at: now) }
    guard policies[name] != nil || policies.count < limit else { return false }
    policies[name] = policy
    return true
  }

  /// Whether `host`, or a domain above it that speaks for its subdomains, has said so (RFC 6797 §8.2).
  package func contains(_ host: String, at now: Int64) -> Bool {
    guard !policies.isEmpty, let name = HSTSHostName.normalized(host) else { return false }
    if let policy = policies[name], policy.expiry > now { return true }
    var parent = Substring(name)
    while let dot = parent.utf8.firstIndex(of: UInt8(ascii: ".")) {
      parent = parent[parent.utf8.index(after: dot)...]
      if let policy = policies[String(parent)], policy.includesSubdomains, policy.expiry > now { return true }
    }
    return false
  }

  /// The URL to load instead of `url`; nil when it may be loaded as it is (RFC 6797 §8.3).
  package func secured(_ url: URIReference, at now: Int64) -> URIReference? {
    guard !policies.isEmpty, let secure = HSTSUpgrade(url), contains(secure.host, at: now) else { return nil }
    return secure.url
  }

  /// Forgets the host; domains above it stay.
  package mutating func remove(_ host: String) {
    if let name = HSTSHostName.normalized(host) { policies[name] = nil }
  }

  package mutating func removeAll() { policies = [:] }

  /// Makes room: forgets every policy that has expired, or the one that expires first.
  private mutating func removeOne(at now: Int64) {
    let count = policies.count
    policies = policies.filter { $0.value.expiry > now }
    guard policies.count == count else { return }
    // By name where two expire at the same time, so that the outcome does not depend on the hash table's order.
    let first = policies.min { ($0.value.expiry, $0.key) < ($1.value.expiry, $1.key) }
    if let first { policies[first.key] = nil }
  }

  /// Keeps a policy that was stored.
  mutating func restore(_ policy: Policy, of host: String) {
    guard policies.count < limit, let name = HSTSHostName.normalized(host) else { return }
    policies[name] = policy
  }
}
