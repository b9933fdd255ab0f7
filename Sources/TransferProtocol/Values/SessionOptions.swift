/// What the service has to know of a background configuration. nil means the default of the configuration.
/// Attaching again replaces the options for everything that starts from then on.
package struct SessionOptions: Codable, Sendable, Equatable {
  /// Start the app when all its tasks are over and it isn't running. Default: true.
  package var sessionSendsLaunchEvents: Bool?
  package var isDiscretionary: Bool?
  package var sharedContainerIdentifier: String?
  /// Seconds without a byte. Default: 60.
  package var timeoutIntervalForRequest: Double?
  /// Seconds for a whole task, waiting included. Default: 7 days.
  package var timeoutIntervalForResource: Double?
  package var allowsCellularAccess: Bool?
  package var allowsExpensiveNetworkAccess: Bool?
  package var allowsConstrainedNetworkAccess: Bool?
  package var networkServiceType: UInt?
  package var httpAdditionalHeaders: [HeaderField]?
  package var httpMaximumConnectionsPerHost: Int?
  package var httpShouldUsePipelining: Bool?
  package var httpShouldSetCookies: Bool?
  package var requestCachePolicy: UInt?
  /// `tls_protocol_version_t`: 0x0301 for TLS 1.0 to 0x0304 for TLS 1.3.
  package var tlsMinimumSupportedProtocolVersion: UInt16?
  package var tlsMaximumSupportedProtocolVersion: UInt16?
  /// App Transport Security as JSON, in the form of `NSAppTransportSecurity`; nil means that there is no such policy.
  package var appTransportSecurity: String?
  /// The proxies as a property list in XML; nil means those of the system.
  package var connectionProxyDictionary: String?
  /// The app's variables that speak of proxies, where it left the choice to the system. May hold passwords, as may the
  /// dictionary: both stay in the service's own files, which only the user can read.
  package var proxyEnvironment: [String: String]?

  package init() {}
}

/// One header field, on the wire as `["Name","value"]`.
package struct HeaderField: Codable, Sendable, Hashable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  package init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    name = try container.decode(String.self)
    value = try container.decode(String.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    try container.encode(name)
    try container.encode(value)
  }
}
