import NIOCore
import NIOSSL
import SystemServices

/// The settings of a session that hold for all its connections.
package struct TransportConfiguration: Sendable {
  /// Most connections to one host at a time (`httpMaximumConnectionsPerHost`); at least 1.
  package var maximumConnectionsPerHost = 6
  /// How long an unused connection is kept. A server's `Keep-Alive: timeout` shortens it. Many load balancers close after
  /// 60 seconds; closing before them avoids requests on connections that end.
  package var idleConnectionTimeout: TimeAmount = .seconds(50)
  package var minimumTLSVersion: TLSVersion = .tlsv12
  package var maximumTLSVersion: TLSVersion?
  /// Whether TCP may use several paths at once (RFC 8684) where both ends can.
  package var usesMultipath = false
  /// Describes the machine's networks.
  package var networks: any NetworkDescribing = SystemNetworks.shared
  /// Resolves names.
  package var names = NameLookups.system
  /// Resolves names with proof, for connections that need it.
  package var provenNames = ProvenNames()
  /// Asks the DNS which servers speak HTTP/3; nil to learn it from servers alone.
  package var serviceRecords = ServiceRecords.system
  /// Which certificate authorities are trusted.
  package var trustRoots: TrustRoots = .system
  /// Whether HTTP/2 is offered to servers over TLS.
  package var offersHTTP2 = true
  /// Whether HTTP/3 is spoken with servers that announce it, where this package was built with it.
  package var offersHTTP3 = true
  /// Whether HTTP/3 is tried for every request, as if it said so.
  package var assumesHTTP3 = false
  /// How long a QUIC connection is tried before one over TCP is tried beside it (in the way of RFC 8305 §5).
  package var http3HeadStart: TimeAmount = .milliseconds(250)
  /// How long an HTTP/2 connection on which an answer is due may be silent before the server is asked whether it is
  /// still there, and how long it has for the answer.
  package var http2SilenceBeforePing: TimeAmount = .seconds(15)
  package var http2PingPatience: TimeAmount = .seconds(15)
  /// How long a server has for its SETTINGS, which are the first that it says over HTTP/2 and HTTP/3.
  package var settingsPatience: TimeAmount = .seconds(10)
  /// How long a connection to a host may take, name lookups included; to a proxy likewise, with the lookup that it needs to be
  /// told an address. A load's own timers end its wait sooner.
  package var connectTimeout: TimeAmount = .minutes(2)
  /// How long a proxy has to open the way to a server. A load's own timers are shorter. The time in which the client is
  /// asked for a credential does not count.
  package var proxyPatience: TimeAmount = .minutes(2)

  /// Reads which hosts a certificate is good for; nil where no connection serves several origins.
  package var certifiedHosts: CertifiedHosts.Reader?
  /// Counts the bytes that a connection has sent.
  package var countSentBytes = SentBytesCounter.system

  package enum TrustRoots: Sendable, Hashable {
    /// The file or folder named by SSL_CERT_FILE or SSL_CERT_DIR, else the system's own store.
    case system
    /// A PEM file.
    case file(String)
    /// PEM files, and folders of them.
    case files([String])

    /// The files and folders that an environment names in the system's place.
    package static func named(in environment: [String: String]) -> [String] {
      ["SSL_CERT_FILE", "SSL_CERT_DIR"].compactMap { environment[$0] }.filter { !$0.isEmpty }
    }
  }

  package init() {}

  /// Whether this build has HTTP/3.
  package static var isBuiltWithHTTP3: Bool {
    #if HTTP3
    true
    #else
    false
    #endif
  }

  /// QUIC needs TLS 1.3 (RFC 9001 §4.2).
  var speaksHTTP3: Bool {
    TransportConfiguration.isBuiltWithHTTP3 && offersHTTP3 && offersHTTP2
      && (maximumTLSVersion == nil || maximumTLSVersion == .tlsv13)
  }
}
