import Foundation
import HTTPTransport
import NIOCore
import SystemServices

/// The parts of the system that a session uses. Tests replace them.
extension URLSessionConfiguration {
  /// The environment in which the system's proxies are looked up; nil: that of this process.
  package var proxyEnvironment: [String: String]? {
    get { self[\.proxyEnvironment] }
    set { self[\.proxyEnvironment] = newValue }
  }

  /// Which certificate authorities are trusted: the system's, unless a test brings its own.
  package var trustRoots: TransportConfiguration.TrustRoots {
    get { self[\.trustRoots] }
    set { self[\.trustRoots] = newValue }
  }

  /// The hosts that are talked to over TLS only. Default: those of the app, a store of its own for ephemeral sessions.
  var hsts: HSTSStore? {
    get { self[\.hsts] }
    set { self[\.hsts] = newValue }
  }

  /// The resolver of names; nil: the system's.
  package var names: NameLookups? {
    get { self[\.names] }
    set { self[\.names] = newValue }
  }

  /// The resolver of names that must be proven.
  package var provenNames: ProvenNames {
    get { self[\.provenNames] }
    set { self[\.provenNames] = newValue }
  }

  /// The source of what is known of the machine's networks.
  package var networks: any NetworkDescribing {
    get { self[\.networks] }
    set { self[\.networks] = newValue }
  }

  /// Counts the bytes that a connection has sent.
  package var countSentBytes: SentBytesCounter {
    get { self[\.countSentBytes] }
    set { self[\.countSentBytes] = newValue }
  }

  /// How long HTTP/3 is tried before HTTP/2 is tried beside it.
  package var http3HeadStart: TimeAmount {
    get { self[\.http3HeadStart] }
    set { self[\.http3HeadStart] = newValue }
  }

  /// Whether every request is one that assumes HTTP/3.
  package var assumesHTTP3: Bool {
    get { self[\.assumesHTTP3] }
    set { self[\.assumesHTTP3] = newValue }
  }

  /// How long a server of HTTP/2 or HTTP/3 has for its SETTINGS.
  package var settingsPatience: TimeAmount {
    get { self[\.settingsPatience] }
    set { self[\.settingsPatience] = newValue }
  }

  /// How long a proxy has to open the way to a server.
  package var proxyPatience: TimeAmount {
    get { self[\.proxyPatience] }
    set { self[\.proxyPatience] = newValue }
  }

  /// How a background session reaches the transfer service.
  var transferConnector: any TransferConnecting {
    get { self[\.transferConnector] }
    set { self[\.transferConnector] = newValue }
  }

  /// The observer of the messages on the wire; nil for none.
  package var observer: LoadObserver? {
    get { self[\.observer] }
    set { self[\.observer] = newValue }
  }
}
