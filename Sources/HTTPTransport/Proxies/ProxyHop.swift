import HTTPSemantics

/// The proxy on the way of a connection, and how it is used. Part of a connection's key, and shared by the keys of all
/// requests that go the same way.
package final class ProxyHop: Hashable, Sendable {
  package enum Use: Hashable, Sendable {
    /// The proxy is asked for the resource (RFC 9112 §3.2.2): one connection serves every plain HTTP server.
    case forward
    /// The proxy passes bytes on: a connection belongs to one server.
    case tunnel
  }

  package let server: ProxyServer
  package let use: Use
  /// For HTTP proxies; nil where nothing is said of who asks.
  package let authorization: ProxyAuthorization?

  package init(_ server: ProxyServer, use: Use, authorization: ProxyAuthorization? = nil) {
    self.server = server
    self.use = use
    self.authorization = authorization
  }

  package static func == (left: ProxyHop, right: ProxyHop) -> Bool {
    left === right
      || (left.use == right.use && left.server == right.server && left.authorization == right.authorization)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(server)
    hasher.combine(use)
  }
}
