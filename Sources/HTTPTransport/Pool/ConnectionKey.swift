/// Where a connection leads, and all that must be equal before two requests may share one.
package struct ConnectionKey: Hashable, Sendable {
  package var scheme: Scheme
  /// A host name in ASCII, an IPv4 address, or an IPv6 address without brackets.
  package var host: String
  package var port: Int

  package enum Scheme: Hashable, Sendable { case http, https }

  package init(scheme: Scheme, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }
}
