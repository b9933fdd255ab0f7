import Foundation
import HTTPTransport
import Synchronization

/// How a session behaves. A session copies its configuration when it is made; later changes have no effect on it.
///
/// A request can't allow again what a configuration forbids (a kind of network, for example).
open class URLSessionConfiguration: NSObject, NSCopying, @unchecked Sendable {
  /// The value of every property. A configuration is read when a session is made, so a lock costs no load anything.
  let values: Mutex<Values>

  // MARK: Identity and timing

  /// The name of a background session; nil for all others.
  open internal(set) var identifier: String? {
    get { self[\.identifier] }
    set { self[\.identifier] = newValue }
  }

  /// The cache policy of requests that choose none. Default `.useProtocolCachePolicy`.
  open var requestCachePolicy: NSURLRequest.CachePolicy {
    get { self[\.requestCachePolicy] }
    set { self[\.requestCachePolicy] = newValue }
  }

  /// Longest time without any progress, in seconds, for requests that choose none. Default 60. It does not run while
  /// a task waits for connectivity; a background session tries again instead of failing.
  open var timeoutIntervalForRequest: TimeInterval {
    get { self[\.timeoutIntervalForRequest] }
    set { self[\.timeoutIntervalForRequest] = newValue }
  }

  /// Longest time for a whole resource, in seconds, with every retry and wait, but without the time in which a task is suspended, or
  /// paused by the user in the background. Default 604800: seven days.
  open var timeoutIntervalForResource: TimeInterval {
    get { self[\.timeoutIntervalForResource] }
    set { self[\.timeoutIntervalForResource] = newValue }
  }

  // MARK: Networks

  /// A hint about the kind of traffic. Default `.default`. Background transfers with `.background` let other traffic on the
  /// network go first (`Docs/Decisions/0134-background-traffic-yields.md`).
  open var networkServiceType: NSURLRequest.NetworkServiceType {
    get { self[\.networkServiceType] }
    set { self[\.networkServiceType] = newValue }
  }

  /// Whether mobile networks may be used. Default true. Where the only network is one that may not be used, tasks fail
  /// with `.notConnectedToInternet`, whose `networkUnavailableReason` says why, or wait (``waitsForConnectivity``). The
  /// same is true of the next two; `Docs/Decisions/0038-cellular-expensive-and-constrained-networks.md` says which
  /// networks are what.
  open var allowsCellularAccess: Bool {
    get { self[\.allowsCellularAccess] }
    set { self[\.allowsCellularAccess] = newValue }
  }

  /// Whether networks that cost money may be used: metered ones by NetworkManager's word or guess, and mobile ones.
  /// Default true.
  open var allowsExpensiveNetworkAccess: Bool {
    get { self[\.allowsExpensiveNetworkAccess] }
    set { self[\.allowsExpensiveNetworkAccess] = newValue }
  }

  /// Whether networks may be used that the user has marked as metered by hand. Default true.
  open var allowsConstrainedNetworkAccess: Bool {
    get { self[\.allowsConstrainedNetworkAccess] }
    set { self[\.allowsConstrainedNetworkAccess] = newValue }
  }

  /// Whether very narrow networks, such as satellite links, may be used. Default false: apps opt in. Without effect:
  /// nothing on Linux says that a network is one.
  open var allowsUltraConstrainedNetworkAccess: Bool {
    get { self[\.allowsUltraConstrainedNetworkAccess] }
    set { self[\.allowsUltraConstrainedNetworkAccess] = newValue }
  }

  /// Whether name resolution must be validated by DNSSEC. Default false. Needs systemd-resolved with `DNSSEC=` on;
  /// where a name can't be proven, tasks fail with `.dnsLookupFailed`.
  open var requiresDNSSECValidation: Bool {
    get { self[\.requiresDNSSECValidation] }
    set { self[\.requiresDNSSECValidation] = newValue }
  }

  /// Whether tasks wait for a usable network instead of failing with `.notConnectedToInternet`. Default false.
  /// Background sessions always wait.
  open var waitsForConnectivity: Bool {
    get { self[\.waitsForConnectivity] }
    set { self[\.waitsForConnectivity] = newValue }
  }

  /// Whether and how to use multipath TCP. Default `.none`.
  open var multipathServiceType: MultipathServiceType {
    get { self[\.multipathServiceType] }
    set { self[\.multipathServiceType] = newValue }
  }

  // MARK: Background sessions

  /// Whether the system may choose when transfers run. Default false. Has no effect outside background sessions.
  ///
  /// Such transfers wait for power, for a network that costs nothing and for a machine that is not busy, less the nearer the
  /// end of `timeoutIntervalForResource` comes, and yield to other traffic. What the machine's services do not tell holds
  /// none back. Tasks that an app makes while the transfer service has started it are discretionary until the app is in
  /// the foreground.
  open var isDiscretionary: Bool {
    get { self[\.isDiscretionary] }
    set { self[\.isDiscretionary] = newValue }
  }

  /// The app group whose container takes the files of transfers. Default nil: the app's own.
  open var sharedContainerIdentifier: String? {
    get { self[\.sharedContainerIdentifier] }
    set { self[\.sharedContainerIdentifier] = newValue }
  }

  /// Whether the app is started again when transfers end or need an answer. Default true. Has no effect outside
  /// background sessions.
  open var sessionSendsLaunchEvents: Bool {
    get { self[\.sessionSendsLaunchEvents] }
    set { self[\.sessionSendsLaunchEvents] = newValue }
  }

  /// Whether connections stay open while the app is in the background. Default false. Kept for compatibility, without
  /// effect as on current Apple systems.
  open var shouldUseExtendedBackgroundIdleMode: Bool {
    get { self[\.shouldUseExtendedBackgroundIdleMode] }
    set { self[\.shouldUseExtendedBackgroundIdleMode] = newValue }
  }

  /// How often and when the transfer service tries tasks again that say nothing of it themselves. Default nil: again and
  /// again until `timeoutIntervalForResource` is over, after pauses that grow from a second to ten minutes. Has no effect
  /// outside background sessions. Not a property of Apple's.
  open var transferRetryPolicy: TransferRetryPolicy? {
    get { self[\.transferRetryPolicy] }
    set { self[\.transferRetryPolicy] = newValue }
  }

  /// How many bytes a second all tasks of the session together may receive and send; fewer than 1,024 count as 1,024. Default
  /// nil: any number. Limits of the user (`urlsession limit`) count beside it, and the lowest wins. Making a background session
  /// again replaces it. Has no effect outside background sessions. Not a property of Apple's.
  open var transferBandwidthLimit: Int64? {
    get { self[\.transferBandwidthLimit] }
    set { self[\.transferBandwidthLimit] = newValue }
  }

  /// How many bytes a second all tasks of the session together may receive and send in some hours of each day; the first 24
  /// count. Default: none. Limits of the user (`urlsession limit`) count beside it, and the lowest wins. Making a background
  /// session again replaces it. Has no effect outside background sessions. Not a property of Apple's.
  open var transferBandwidthHours: [TransferBandwidthHours] {
    get { self[\.transferBandwidthHours] }
    set { self[\.transferBandwidthHours] = newValue }
  }

  // MARK: Proxies and TLS

  /// Proxies in the vocabulary of the `kCFNetworkProxies…` keys. Default nil: the system's settings.
  open var connectionProxyDictionary: [AnyHashable: Any]? {
    get { self[\.connectionProxyDictionary]?.entries }
    set { self[\.connectionProxyDictionary] = newValue.map { AppDictionary($0) } }
  }

  /// Proxies for every connection of the session, tried in order. Default none.
  open var proxyConfigurations: [ProxyConfiguration] {
    get { self[\.proxyConfigurations] }
    set { self[\.proxyConfigurations] = newValue }
  }

  /// The oldest version of TLS that is accepted. Default TLS 1.2.
  open var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
    get { self[\.tlsMinimumSupportedProtocolVersion] }
    set { self[\.tlsMinimumSupportedProtocolVersion] = newValue }
  }

  /// The newest version of TLS that is offered. Default TLS 1.3.
  open var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
    get { self[\.tlsMaximumSupportedProtocolVersion] }
    set { self[\.tlsMaximumSupportedProtocolVersion] = newValue }
  }

  // MARK: HTTP

  /// Whether requests may be sent before the answers to earlier ones have arrived (RFC 9112 §9.3.2). Default false.
  ///
  /// That is done with GET, HEAD and OPTIONS requests without a body, on connections of HTTP/1.1 that have shown that
  /// they stay open; over HTTP/2 requests never wait for each other.
  open var httpShouldUsePipelining: Bool {
    get { self[\.httpShouldUsePipelining] }
    set { self[\.httpShouldUsePipelining] = newValue }
  }

  /// Whether stored cookies are sent with requests. Default true.
  open var httpShouldSetCookies: Bool {
    get { self[\.httpShouldSetCookies] }
    set { self[\.httpShouldSetCookies] = newValue }
  }

  /// Which cookies are stored; wins over the policy of the store itself. Default `.onlyFromMainDocumentDomain`.
  open var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy {
    get { self[\.httpCookieAcceptPolicy] }
    set { self[\.httpCookieAcceptPolicy] = newValue }
  }

  /// Header fields for every request that does not have a field of that name. Default nil.
  open var httpAdditionalHeaders: [AnyHashable: Any]? {
    get { self[\.httpAdditionalHeaders]?.entries }
    set { self[\.httpAdditionalHeaders] = newValue.map { AppDictionary($0) } }
  }

  /// Most connections to one host at a time, whatever its requests ask of the network; WebSockets do not count. Default
  /// 6; less than 1 counts as 1. From 16 on, on a machine with four processors or more, the connections to a server without TLS
  /// are divided among several event loops, each with an equal part of the number; priorities then hold among the tasks of each.
  open var httpMaximumConnectionsPerHost: Int {
    get { self[\.httpMaximumConnectionsPerHost] }
    set { self[\.httpMaximumConnectionsPerHost] = newValue }
  }

  /// The path of a Unix-domain socket to which every request of an http, https, ws or wss URL is sent, without a proxy. The
  /// URL's host is what the server is told, and for https what its certificate must name; it is not looked up. A socket
  /// that is not there fails the load with `cannotConnectToHost`. Default nil: requests go to their hosts. URLs of the
  /// scheme `http+unix` name a socket themselves, as `http+unix://%2Frun%2Fdocker.sock/info`. Not a property of Apple's.
  open var unixSocketPath: String? {
    get { self[\.unixSocketPath] }
    set { self[\.unixSocketPath] = newValue }
  }

  /// Whether the server of an `ftp:` URL is asked for TLS before anything else is said to it, and is not used when it
  /// refuses (RFC 4217: AUTH TLS, PROT P). Such a load fails with `secureConnectionFailed`. `ftps:` URLs begin with TLS and
  /// need no setting. Default false. Not a property of Apple's.
  open var ftpRequiresTLS: Bool {
    get { self[\.ftpRequiresTLS] }
    set { self[\.ftpRequiresTLS] = newValue }
  }

  /// The store of cookies. Default: the shared store, a private one for ephemeral sessions. nil: no cookies at all.
  open var httpCookieStorage: HTTPCookieStorage? {
    get { self[\.httpCookieStorage] }
    set { self[\.httpCookieStorage] = newValue }
  }

  /// The store of credentials. Default: the shared store, a private one for ephemeral sessions. nil: none.
  open var urlCredentialStorage: URLCredentialStorage? {
    get { self[\.urlCredentialStorage] }
    set { self[\.urlCredentialStorage] = newValue }
  }

  /// The store of responses. Default: the shared cache, a private one in memory for ephemeral sessions, nil for
  /// background sessions. nil: no caching.
  open var urlCache: URLCache? {
    get { self[\.urlCache] }
    set { self[\.urlCache] = newValue }
  }

  /// Subclasses of `URLProtocol` that are asked, in order, before the built-in loaders. Default none. Classes that
  /// `URLProtocol.registerClass(_:)` has registered serve the shared session only. Background sessions ask no class.
  open var protocolClasses: [AnyClass]? {
    get { self[\.protocolClasses] }
    set { self[\.protocolClasses] = newValue }
  }

  /// Whether Apple's older loader is used. Default true. Here there is one loader, whatever the value.
  open var usesClassicLoadingMode: Bool {
    get { self[\.usesClassicLoadingMode] }
    set { self[\.usesClassicLoadingMode] = newValue }
  }

  /// Whether requests over HTTP/3 may be sent in the first flight of a handshake with a server that is known already, which
  /// saves a round trip: GET, HEAD and OPTIONS without a body. An attacker on the way can send them to the server once more.
  /// Default false.
  open var enablesEarlyData: Bool {
    get { self[\.enablesEarlyData] }
    set { self[\.enablesEarlyData] = newValue }
  }

  /// App Transport Security: which hosts may be loaded from without encryption. Default: the policy of the main bundle;
  /// nil, no such policy, where the bundle has none. Not part of Apple's API, where only the bundle decides.
  open var appTransportSecurity: AppTransportSecurity? {
    get { self[\.appTransportSecurity] }
    set { self[\.appTransportSecurity] = newValue }
  }

  // MARK: Making configurations

  /// A new configuration that keeps cookies, credentials and responses in the shared stores.
  open class var `default`: URLSessionConfiguration { URLSessionConfiguration() }

  /// A new configuration that keeps everything in memory, for as long as the session exists.
  open class var ephemeral: URLSessionConfiguration {
    let configuration = URLSessionConfiguration()
    configuration.httpCookieStorage = HTTPCookieStorage()
    configuration.urlCredentialStorage = URLCredentialStorage()
    configuration.hsts = HSTSStore()
    configuration.urlCache = URLCache(memoryCapacity: ephemeralCacheCapacity, diskCapacity: 0)
    return configuration
  }

  /// A configuration of a session whose transfers go on in another process while the app does not run.
  ///
  /// - Parameter identifier: The session's name within the app; must not be empty. Making a session of the same name
  ///   after a restart takes up its transfers again.
  open class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration()
    configuration.identifier = identifier
    configuration.urlCache = nil
    return configuration
  }

  /// The older spelling of `background(withIdentifier:)`.
  @available(*, deprecated, renamed: "background(withIdentifier:)")
  open class func backgroundSessionConfiguration(_ identifier: String) -> URLSessionConfiguration {
    background(withIdentifier: identifier)
  }

  /// The default configuration. Prefer `URLSessionConfiguration.default`.
  public override init() { values = Mutex(Values()) }

  /// The default configuration, as `default`.
  @available(*, deprecated, message: "Use URLSessionConfiguration.default")
  open class func new() -> URLSessionConfiguration { URLSessionConfiguration() }

  /// 512 KiB: an ephemeral session's cache competes with the app for memory.
  private static let ephemeralCacheCapacity = 512 * 1024

  // MARK: Copying

  /// An independent configuration with the same values. The stores are shared, not copied.
  open override func copy() -> Any { copy(with: nil) }

  /// As `copy()`; `zone` has no meaning.
  open func copy(with zone: NSZone? = nil) -> Any { URLSessionConfiguration(copying: self) }

  init(copying other: URLSessionConfiguration) {
    values = Mutex(other.values.withLock { $0 })
  }
}
