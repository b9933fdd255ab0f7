import SystemServices

/// The destination of a connection, and all that must be equal before two requests may share one.
package struct ConnectionKey: Hashable, Sendable {
  package var scheme: Scheme
  /// A host name in ASCII, an IPv4 address, or an IPv6 address without brackets.
  package var host: String
  package var port: Int
  /// Whether HTTP/2 is offered in the TLS handshake. False for requests that only HTTP/1.1 can serve, and after the
  /// server has asked for HTTP/1.1.
  package var allowsHTTP2 = true
  /// The traffic class that the packets are marked with.
  package var trafficClass = TrafficClass.bestEffort
  /// The proxy on the way; nil for none. Host and port are then the proxy's own when it is asked for the resource, and
  /// the server's when it passes bytes on.
  package var proxy: ProxyHop?
  /// The socket in the file system that is connected to in place of the host; nil for none.
  package var socketPath: String?
  /// The place at which the server is reached over QUIC; nil for TCP.
  package var quic: QUICEndpoint?
  /// Whether the name must be resolved with a DNSSEC proof.
  package var requiresDNSSEC = false
  /// The kinds of network that the connection must not use.
  package var forbiddenNetworks: NetworkTraits = []
  /// On whose behalf the connection speaks.
  package var identity = ConnectionIdentity.none

  /// 0, or a number that keeps requests off the connections of others: after 421 a new connection is wanted.
  package var isolation: UInt64 = 0

  /// The host and port that the socket connects to.
  package var dialled: (host: String, port: Int) {
    if let quic { return (quic.host, quic.port) }
    return proxy.map { ($0.server.host, $0.server.port) } ?? (host, port)
  }

  /// Whether requests are put to a proxy over TLS.
  var asksProxySecurely: Bool { proxy.map { $0.use == .forward && $0.server.kind == .https } ?? false }

  package enum Scheme: Hashable, Sendable { case http, https }

  /// Keys of one server mostly differ in nothing else, so that hashing the rest would be wasted.
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
