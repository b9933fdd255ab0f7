import SystemServices

/// Where a connection leads, and all that must be equal before two requests may share one.
package struct ConnectionKey: Hashable, Sendable {
  package var scheme: Scheme
  /// A host name in ASCII, an IPv4 address, or an IPv6 address without brackets.
  package var host: String
  package var port: Int
  /// Whether HTTP/2 is offered in the TLS handshake. What only HTTP/1.1 can do, or a server that asks for it, says no.
  package var allowsHTTP2 = true
  /// What the packets are marked with.
  package var trafficClass = TrafficClass.bestEffort
  /// The proxy on the way; nil for none. Host and port are then the proxy's own when it is asked for the resource, and
  /// the server's when it passes bytes on.
  package var proxy: ProxyHop?
  /// Whether the name must be resolved with proof that nobody has changed the answer.
  package var requiresDNSSEC = false
  /// What the network that leads to it must not be.
  package var forbiddenNetworks: NetworkTraits = []

  /// 0, or a number that keeps requests off the connections of others: after 421 a new connection is wanted.
  package var isolation: UInt64 = 0

  /// Where the socket leads.
  package var dialled: (host: String, port: Int) { proxy.map { ($0.server.host, $0.server.port) } ?? (host, port) }

  package enum Scheme: Hashable, Sendable { case http, https }

  /// Keys of one server mostly differ in nothing else, and every request looks its key up several times.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(host)
    hasher.combine(port)
  }

  package init(scheme: Scheme, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }
}

/// How the network is asked to treat a connection's packets: the DSCP of RFC 2474 on the wire, and the priority of the
/// machine's own queue.
package struct TrafficClass: Hashable, Sendable {
  /// Six bits.
  package var dscp: UInt8
  /// 0…6, for `SO_PRIORITY`: what needs no privilege.
  package var priority: UInt8

  package init(dscp: UInt8, priority: UInt8) {
    self.dscp = dscp
    self.priority = priority
  }

  package static let bestEffort = TrafficClass(dscp: 0, priority: 0)
}
