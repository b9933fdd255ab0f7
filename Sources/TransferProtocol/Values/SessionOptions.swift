/// A background configuration, as the service knows it. nil means the default of the configuration.
/// Attaching again replaces the options for everything that starts from then on.
///
/// The library that makes messages of configurations has one list of these properties for both ways
/// (`SessionOptions+URLSessionConfiguration.swift`). Queues hold options of older versions, so a new property is
/// optional.
package struct SessionOptions: Codable, Sendable, Hashable {
  /// How long they may be in a message. Most have a few hundred bytes; a dictionary of proxies may hold a whole script.
  package static let maximumLength = 512 * 1024

  /// Start the app when all its tasks are over and it isn't running. Default: true.
  package var sessionSendsLaunchEvents: Bool?
  package var isDiscretionary: Bool?
  package var sharedContainerIdentifier: String?
  package var shouldUseExtendedBackgroundIdleMode: Bool?
  package var waitsForConnectivity: Bool?
  /// Seconds without a byte. Default: 60.
  package var timeoutIntervalForRequest: Double?
  /// Seconds for a whole task, waiting included. Default: 7 days.
  package var timeoutIntervalForResource: Double?
  package var allowsCellularAccess: Bool?
  package var allowsExpensiveNetworkAccess: Bool?
  package var allowsConstrainedNetworkAccess: Bool?
  package var allowsUltraConstrainedNetworkAccess: Bool?
  package var requiresDNSSECValidation: Bool?
  package var multipathServiceType: Int?
  package var networkServiceType: UInt?
  package var httpAdditionalHeaders: [HeaderField]?
  package var httpMaximumConnectionsPerHost: Int?
  package var httpShouldUsePipelining: Bool?
  package var httpShouldSetCookies: Bool?
  package var httpCookieAcceptPolicy: UInt?
  package var requestCachePolicy: UInt?
  package var usesClassicLoadingMode: Bool?
  package var enablesEarlyData: Bool?
  /// `tls_protocol_version_t`: 0x0301 for TLS 1.0 to 0x0304 for TLS 1.3.
  package var tlsMinimumSupportedProtocolVersion: UInt16?
  package var tlsMaximumSupportedProtocolVersion: UInt16?
  /// App Transport Security as JSON, in the form of `NSAppTransportSecurity`; nil means that there is no such policy.
  package var appTransportSecurity: String?
  /// The proxies as a property list in XML; nil means those of the system.
  package var connectionProxyDictionary: String?
  /// Proxies that count before the dictionary. nil means none.
  package var proxyConfigurations: [ProxyDescription]?
  /// The app's variables that speak of proxies, where it left the choice to the system. May hold passwords, as may the
  /// dictionary: the service keeps both without them, and the passwords sealed.
  package var proxyEnvironment: [String: String]?
  /// Files and folders of certificate authorities that the app trusts instead of the system's. nil means the system's.
  package var certificateAuthorities: [String]?
  /// The app's file of the hosts that are loaded over TLS only, which the service reads. nil: the app keeps none.
  package var hstsFile: String?
  /// The app's variables with which it is started again; those that it may not have are left out then. nil from older
  /// apps.
  package var launchEnvironment: [String: String]?
  /// For tasks that say nothing of it. nil: the service's own rule.
  package var retry: RetryDescription?
  /// How many bytes a second all its tasks together may receive; nil: any number.
  package var bytesPerSecond: Int64?
  /// The same in hours of the day; the first `BandwidthLimit.maximumCount` count. nil: none.
  package var hourlyLimits: [BandwidthLimit]?

  package init() {}
}
