import NIOCore
import SystemServices

/// The dates and facts of making a connection. Times are on the monotonic clock.
package struct ConnectionRecord: Sendable {
  package var domainLookupStart: NIODeadline?
  package var domainLookupEnd: NIODeadline?
  package var domainResolution = DomainResolution.unknown
  package var connectStart: NIODeadline?
  package var secureConnectionStart: NIODeadline?
  package var secureConnectionEnd: NIODeadline?
  package var connectEnd: NIODeadline?
  package var localAddress: SocketAddress?
  package var remoteAddress: SocketAddress?
  /// The proxy that the connection leads to, without its credential; nil for none.
  package var proxyName: String?
  /// The host, and the port unless it is that of https, of an alternative service that the server has announced (RFC 7838)
  /// and that the connection leads to; nil for none.
  package var alternativeService: String?
  /// Whether several paths carry it (RFC 8684).
  package var isMultipath = false
  /// nil while there is no connection.
  package var path: NetworkPath?
  /// The ALPN name of what is spoken: `http/1.1`, `h2`, `h3`.
  package var protocolName = "http/1.1"
  /// The version and suite numbers of RFC 8446; nil without TLS.
  package var tlsVersion: UInt16?
  package var tlsCipherSuite: UInt16?
  package var clientCertificate = ClientCertificateUse.notWanted
  /// The server's own certificate; nil without TLS.
  package var serverCertificate: ServerCertificate?

  package init() {}

  /// The connection was begun for this purpose as one to the proxy.
  mutating func noteCarrier(_ carrier: ConnectionRecord) {
    domainLookupStart = carrier.domainLookupStart
    domainLookupEnd = carrier.domainLookupEnd
    domainResolution = carrier.domainResolution
    connectStart = carrier.connectStart
  }
}
