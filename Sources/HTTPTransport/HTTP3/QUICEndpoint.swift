/// The host and port at which a server answers over QUIC: its own, or those that it has announced (RFC 7838 §3).
package struct QUICEndpoint: Hashable, Sendable {
  /// A host name in ASCII, an IPv4 address, or an IPv6 address without brackets.
  package var host: String
  package var port: Int

  package init(host: String, port: Int) {
    self.host = host
    self.port = port
  }
}
