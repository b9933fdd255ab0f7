/// The alternatives that origins have offered, each until it expires. A value: the time is passed in.
package struct AlternativeServiceTable: Sendable {
  private struct Entry: Sendable {
    var service: AlternativeService
    /// Seconds on the clock whose time is passed in.
    var expiry: Int64
  }

  private var origins: [HTTPOrigin: [Entry]] = [:]

  /// So that a session that visits the whole web does not grow with it.
  private static let limit = 1_000

  package init() {}

  /// Notes what a response of `origin` says. RFC 7838 §3: an announcement replaces all earlier ones. `age` is the
  /// response's own (RFC 7838 §3.1).
  package mutating func note(_ value: String, from origin: HTTPOrigin, age: Int64 = 0, at now: Int64) {
    switch AlternativeService.read(value) {
    case nil: break
    case .clear: origins[origin] = nil
    case .services(let services):
      let entries = services.compactMap { service -> Entry? in
        let left = service.maxAge - max(0, age)
        guard left > 0 else { return nil }
        let (expiry, overflow) = now.addingReportingOverflow(left)
        return Entry(service: service, expiry: overflow ? .max : expiry)
      }
      if origins.count >= AlternativeServiceTable.limit, origins[origin] == nil { removeExpiredOrFirst(at: now) }
      origins[origin] = entries.isEmpty ? nil : entries
    }
  }

  /// RFC 7838 §6: a server that answers 421 is no alternative for the origin.
  package mutating func forget(_ origin: HTTPOrigin) { origins[origin] = nil }

  /// RFC 7838 §2.2: on another network only what says so stays valid.
  package mutating func networkChanged() {
    for (origin, entries) in origins {
      let kept = entries.filter(\.service.persists)
      origins[origin] = kept.isEmpty ? nil : kept
    }
  }

  package mutating func removeAll() { origins = [:] }

  package var isEmpty: Bool { origins.isEmpty }

  /// The alternatives of `origin` that are still valid, best first.
  package func services(for origin: HTTPOrigin, at now: Int64) -> [AlternativeService] {
    (origins[origin] ?? []).filter { $0.expiry > now }.map(\.service)
  }

  private mutating func removeExpiredOrFirst(at now: Int64) {
    origins = origins.filter { $0.value.contains { $0.expiry > now } }
    if origins.count >= AlternativeServiceTable.limit, let first = origins.keys.first { origins[first] = nil }
  }
}

extension HTTPOrigin {
  /// An origin from its parts: scheme and host in lower case, the host without brackets.
  package init(knownScheme scheme: String, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }
}
