import Foundation
import HTTPSemantics
import HTTPTransport
import Synchronization
import SystemServices

/// The part of its session's configuration that a load uses: read once when the session is made, never changed.
package struct LoadConfiguration: Sendable {
  package var additionalHeaders = HTTPFields()
  /// Longest time without a byte moving, in seconds (`timeoutIntervalForRequest`).
  package var timeoutIntervalForRequest: TimeInterval = 60
  /// Longest time for the whole resource, in seconds (`timeoutIntervalForResource`).
  package var timeoutIntervalForResource: TimeInterval = 604_800
  package var cachePolicy: URLRequest.CachePolicy = .useProtocolCachePolicy
  /// Whether a load waits for a network instead of failing without one.
  package var waitsForConnectivity = false
  /// The kinds of network that a load must not use; a request may forbid more.
  package var forbiddenNetworks: NetworkTraits = []
  /// The class of the connections' traffic, for the network's scheduling; a request may say otherwise.
  package var networkServiceType: URLRequest.NetworkServiceType = .default
  /// Whether safe requests may be written to a busy HTTP/1.1 connection before it has answered; a request may say so
  /// too.
  package var usesPipelining = false
  /// Whether safe requests may be sent before a handshake is complete (RFC 8470).
  package var usesEarlyData = false
  /// nil where App Transport Security is off.
  package var transportSecurity: TransportSecurityRules?
  /// Which way requests go; nil when always directly.
  package var proxies: ProxySelector?
  /// Whether FTP servers are connected to for their data; false: they connect to this machine.
  package var usesPassiveFTP = true
  /// The socket that http and https requests are sent to in place of their hosts; nil for none.
  package var unixSocketPath: String?
  /// Whether `ftp:` URLs are loaded over TLS only.
  package var requiresTLSForFTP = false
  /// Whether every name must be resolved with proof; a request may demand it by itself.
  package var requiresDNSSECValidation = false
  /// The spaces of servers that loads were let into; nil where no credential is kept.
  var authentication: AuthenticationMemory?
  /// The hosts that are talked to over TLS only; nil where none is learned.
  package var hsts: HSTSStore?
  /// nil where no cookies are kept or sent.
  package var cookies: LoadCookies?
  /// The responses that are stored, and those that answer.
  var cache = LoadCache.none
  /// The app's own loaders.
  var protocols = ProtocolClasses(nil)
  package var transport = TransportConfiguration()
  /// Is told of messages as they pass; nil for none.
  package var observer: LoadObserver?

  package init() {}
}

/// A session's configuration as its loads share it: a load that kept a copy would count some ten references.
final class LoadSettings: Sendable {
  let configuration: LoadConfiguration

  /// A URL, its parts, and the key of responses to it; both nil where it is none of http or https that names a host.
  struct Place {
    var text = ""
    var target: HTTPTarget?
    var key: CacheKey?
  }

  /// The place of the last load: many programs ask for one URL again and again. None that may hold a password, or that is
  /// long.
  private let last = Mutex(Place())

  init(_ configuration: LoadConfiguration) { self.configuration = configuration }

  func place(of text: String) -> Place {
    let known = last.withLock { $0.text == text ? $0 : nil }
    if let known, known.target != nil { return known }
    let target = HTTPTarget(text: text)
    let key = configuration.cache.cache == nil ? nil : target.map { CacheKey($0) }
    let place = Place(text: text, target: target, key: key)
    if target != nil, LoadSettings.mayBeKept(text) { last.withLock { $0 = place } }
    return place
  }

  /// Whether requests of http to the server of `key` go there without a proxy and without TLS, as far as is known without
  /// waiting.
  func reachesAsWritten(_ key: ConnectionKey) -> Bool {
    // No proxy is on the way to a socket of this machine.
    let isSocket = configuration.unixSocketPath != nil || key.socketPath != nil
    guard isSocket || configuration.proxies?.isKnownToBeDirect(key) != false else { return false }
    return !HSTS.secures(key.host, in: configuration)
  }

  /// Whether a load may end without a socket: the cache, which has responses to `key`, or a protocol of the app may answer
  /// it.
  func mayNeedNoSocket(_ key: CacheKey?) -> Bool {
    if !configuration.protocols.present.isEmpty { return true }
    guard let key, let cache = configuration.cache.cache, type(of: cache) == URLCache.self else { return false }
    return cache.mayHold(key)
  }

  /// Whether a URL may stay in memory beyond its load. RFC 3986 §3.2: what stands before an @ may be user and password.
  static func mayBeKept(_ text: String) -> Bool { text.utf8.count <= 2_048 && !text.utf8.contains(UInt8(ascii: "@")) }
}
