import HTTPSemantics
import SystemServices

/// The open connections of HTTP/2 that may serve requests to other origins than their own (RFC 9113 §9.1.1), and what was
/// found out about that. A value without sockets.
///
/// Whether a name leads to the address of a connection, and whether the server is trusted under that name, is found out by
/// the caller, once for a connection and an origin, and noted here.
package struct CoalescingTable: Sendable {
  package typealias ID = UInt64

  /// A connection, with all that decides which origins it may serve.
  package struct Connection: Sendable {
    package let key: ConnectionKey
    package let address: NetworkAddress
    package let tlsVersion: UInt16?
    /// As the server sent them, its own first (DER).
    package let certificates: [[UInt8]]
    package let hosts: CertifiedHosts

    package init(
      key: ConnectionKey, address: NetworkAddress, tlsVersion: UInt16?, certificates: [[UInt8]], hosts: CertifiedHosts
    ) {
      self.key = key
      self.address = address
      self.tlsVersion = tlsVersion
      self.certificates = certificates
      self.hosts = hosts
    }
  }

  /// A connection that may serve requests of a key.
  package struct Candidate: Sendable {
    package let id: ID
    package let connection: Connection
    /// Whether the name leads to it and the server is trusted under that name.
    package let isAdmitted: Bool
  }

  private struct Entry {
    let connection: Connection
    /// nil until the server lists origins.
    var origins: OriginSet?
    /// Of other origins: whether the connection may serve them, as far as that was found out.
    var verdicts: [HTTPOrigin: Bool] = [:]
  }

  private var entries: [ID: Entry] = [:]
  private var lastID: ID = 0
  /// Origins that were answered with 421 on a connection of another one.
  private var refused: Set<HTTPOrigin> = []

  /// Past so many all are forgotten: finding out again costs little.
  private static let limit = 1_024

  package init() {}

  package var isEmpty: Bool { entries.isEmpty }

  // MARK: Connections

  /// A connection is open. nil when it can't serve other origins.
  package mutating func opened(_ connection: Connection) -> ID? {
    guard CoalescingTable.mayShare(connection.key) else { return nil }
    lastID += 1
    entries[lastID] = Entry(connection: connection)
    return lastID
  }

  package mutating func closed(_ id: ID) { entries[id] = nil }

  /// The server says for which origins the connection may be used.
  package mutating func listed(_ origins: [String], on id: ID) {
    guard let entry = entries[id] else { return }
    var set = entry.origins ?? OriginSet(CoalescingTable.origin(entry.connection.key))
    set.add(origins)
    entries[id]?.origins = set
  }

  // MARK: Origins

  /// The connections of other origins that may serve requests of `key`, those first of which all is known.
  package func candidates(for key: ConnectionKey, limits: HandshakeLimits) -> [Candidate] {
    guard !entries.isEmpty, CoalescingTable.mayShare(key) else { return [] }
    let origin = CoalescingTable.origin(key)
    guard !refused.contains(origin) else { return [] }
    var found: [Candidate] = []
    for (id, entry) in entries where serves(entry, key, origin, limits) {
      found.append(Candidate(id: id, connection: entry.connection, isAdmitted: entry.verdicts[origin] == true))
    }
    return found.sorted { ($0.isAdmitted ? 0 : 1, $0.id) < ($1.isAdmitted ? 0 : 1, $1.id) }
  }

  private func serves(
    _ entry: Entry, _ key: ConnectionKey, _ origin: HTTPOrigin, _ limits: HandshakeLimits
  ) -> Bool {
    guard entry.connection.key.port == key.port, entry.connection.key.host != key.host,
      entry.verdicts[origin] != false, entry.origins?.contains(origin) ?? true
    else { return false }
    var same = entry.connection.key
    same.host = key.host
    guard same == key, entry.connection.tlsVersion ?? 0 >= limits.minimumVersion ?? 0 else { return false }
    return entry.connection.hosts.contain(key.host)
  }

  /// The origin was looked into: whether the name leads to the connection, and the server is trusted under it.
  package mutating func judged(_ key: ConnectionKey, on id: ID, isAdmitted: Bool) {
    guard let count = entries[id]?.verdicts.count else { return }
    if count >= CoalescingTable.limit { entries[id]?.verdicts = [:] }
    entries[id]?.verdicts[CoalescingTable.origin(key)] = isAdmitted
  }

  /// RFC 9110 §15.5.20: the server does not answer for this origin on connections of others.
  package mutating func refused(_ key: ConnectionKey) {
    if refused.count >= CoalescingTable.limit { refused = [] }
    refused.insert(CoalescingTable.origin(key))
  }

  // MARK: Keys

  /// Whether connections of a key may be shared by origins: those straight to a server that is known by name, which speak
  /// for no user.
  private static func mayShare(_ key: ConnectionKey) -> Bool {
    key.scheme == .https && key.allowsHTTP2 && key.proxy == nil && key.socketPath == nil && key.quic == nil
      && !key.requiresDNSSEC && key.identity == .none && key.isolation == 0 && IPAddressText(key.host) == nil
  }

  private static func origin(_ key: ConnectionKey) -> HTTPOrigin {
    HTTPOrigin(knownScheme: "https", host: key.host.asciiLowercased(), port: key.port)
  }
}
