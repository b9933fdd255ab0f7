import Foundation
import HTTPTransport
import SystemServices

extension URLSessionConfiguration {
  /// The values of all properties, with their defaults.
  struct Values: Sendable {
    var identifier: String?
    var requestCachePolicy = NSURLRequest.CachePolicy.useProtocolCachePolicy
    var timeoutIntervalForRequest: TimeInterval = 60
    var timeoutIntervalForResource: TimeInterval = 604_800
    var networkServiceType = NSURLRequest.NetworkServiceType.default
    var allowsCellularAccess = true
    var allowsExpensiveNetworkAccess = true
    var allowsConstrainedNetworkAccess = true
    var allowsUltraConstrainedNetworkAccess = false
    var requiresDNSSECValidation = false
    var waitsForConnectivity = false
    var multipathServiceType = MultipathServiceType.none
    var isDiscretionary = false
    var sharedContainerIdentifier: String?
    var sessionSendsLaunchEvents = true
    var shouldUseExtendedBackgroundIdleMode = false
    var connectionProxyDictionary: AppDictionary?
    var proxyConfigurations: [ProxyConfiguration] = []
    var tlsMinimumSupportedProtocolVersion = tls_protocol_version_t.TLSv12
    var tlsMaximumSupportedProtocolVersion = tls_protocol_version_t.TLSv13
    var httpShouldUsePipelining = false
    var httpShouldSetCookies = true
    var httpCookieAcceptPolicy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
    var httpAdditionalHeaders: AppDictionary?
    var httpMaximumConnectionsPerHost = 6
    var unixSocketPath: String?
    var ftpRequiresTLS = false
    var httpCookieStorage: HTTPCookieStorage? = .shared
    var urlCredentialStorage: URLCredentialStorage? = .shared
    var hsts: HSTSStore? = .shared
    var urlCache: URLCache? = .shared
    var protocolClasses: [AnyClass]? = []
    var usesClassicLoadingMode = true
    var enablesEarlyData = false
    var appTransportSecurity: AppTransportSecurity? = .ofMainBundle
    var proxyEnvironment: [String: String]?
    var transferRetryPolicy: TransferRetryPolicy?
    var transferBandwidthLimit: Int64?
    var transferBandwidthHours: [TransferBandwidthHours] = []
    var trustRoots = TransportConfiguration.TrustRoots.system
    var names: NameLookups?
    var provenNames = ProvenNames()
    var networks: any NetworkDescribing = SystemNetworks.shared
    var countSentBytes = SentBytesCounter.system
    var http3HeadStart = TransportConfiguration().http3HeadStart
    var assumesHTTP3 = false
    var settingsPatience = TransportConfiguration().settingsPatience
    var proxyPatience = TransportConfiguration().proxyPatience
    var transferConnector: any TransferConnecting = ServiceConnector()
    var observer: LoadObserver?
  }

  /// A property, read or set under the lock.
  subscript<Value: Sendable>(path: WritableKeyPath<Values, Value> & Sendable) -> Value {
    get { values.withLock { $0[keyPath: path] } }
    set { values.withLock { $0[keyPath: path] = newValue } }
  }
}
