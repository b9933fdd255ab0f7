import Foundation
import HTTPSemantics
import HTTPTransport
import SystemServices
import TransferProtocol

extension SessionOptions {
  private typealias Property = CarriedProperty<SessionOptions, URLSessionConfiguration>

  /// Every property of a configuration but these: the identifier, which `Attach` has; the stores and the protocol
  /// classes, which stay in the app (`Docs/Decisions/0060-what-a-background-session-carries.md`).
  private static let properties: [Property] = [
    .same(\.sessionSendsLaunchEvents, \.sessionSendsLaunchEvents),
    .same(\.isDiscretionary, \.isDiscretionary),
    .same(\.sharedContainerIdentifier, \.sharedContainerIdentifier),
    .same(\.shouldUseExtendedBackgroundIdleMode, \.shouldUseExtendedBackgroundIdleMode),
    .same(\.waitsForConnectivity, \.waitsForConnectivity),
    .seconds(\.timeoutIntervalForRequest, \.timeoutIntervalForRequest),
    .seconds(\.timeoutIntervalForResource, \.timeoutIntervalForResource),
    .same(\.allowsCellularAccess, \.allowsCellularAccess),
    .same(\.allowsExpensiveNetworkAccess, \.allowsExpensiveNetworkAccess),
    .same(\.allowsConstrainedNetworkAccess, \.allowsConstrainedNetworkAccess),
    .same(\.allowsUltraConstrainedNetworkAccess, \.allowsUltraConstrainedNetworkAccess),
    .same(\.requiresDNSSECValidation, \.requiresDNSSECValidation),
    .number(\.multipathServiceType, \.multipathServiceType),
    .number(\.networkServiceType, \.networkServiceType),
    .same(\.httpMaximumConnectionsPerHost, \.httpMaximumConnectionsPerHost),
    .same(\.httpShouldUsePipelining, \.httpShouldUsePipelining),
    .same(\.httpShouldSetCookies, \.httpShouldSetCookies),
    .number(\.httpCookieAcceptPolicy, \.httpCookieAcceptPolicy),
    .number(\.requestCachePolicy, \.requestCachePolicy),
    .same(\.usesClassicLoadingMode, \.usesClassicLoadingMode),
    .same(\.enablesEarlyData, \.enablesEarlyData),
    .number(\.tlsMinimumSupportedProtocolVersion, \.tlsMinimumSupportedProtocolVersion),
    .number(\.tlsMaximumSupportedProtocolVersion, \.tlsMaximumSupportedProtocolVersion),
    .same(\.bytesPerSecond, \.transferBandwidthLimit),
    .bandwidthHours, .retry, .additionalHeaders, .transportSecurity, .proxyDictionary, .proxyConfigurations,
    .proxyEnvironment,
  ]

  /// `configuration` as a message.
  ///
  /// - Parameter environment: of the app. It says which authorities the app trusts in the system's place, and with which
  ///   variables the service starts the app again.
  package init(
    _ configuration: URLSessionConfiguration, environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    self.init()
    Property.encode(configuration, into: &self, SessionOptions.properties)
    certificateAuthorities = configuration.trustRoots.paths(environment)
    hstsFile = configuration.hsts?.path
    launchEnvironment = UserEnvironment.ofApp(environment)
  }

  /// A configuration with what was described, and with stores of its own in memory. Of the app's hosts that are loaded
  /// over TLS only it reads the file.
  package func makeConfiguration() -> URLSessionConfiguration {
    var configuration = URLSessionConfiguration.ephemeral
    Property.decode(self, into: &configuration, SessionOptions.properties)
    if let certificateAuthorities { configuration.trustRoots = .files(certificateAuthorities) }
    if let hstsFile, hstsFile.hasPrefix("/") { configuration.hsts = HSTSStore(reading: HSTSFile(path: hstsFile)) }
    configuration.addLanguage(of: launchEnvironment ?? [:])
    return configuration
  }
}

extension CarriedProperty<SessionOptions, URLSessionConfiguration> {
  fileprivate static var bandwidthHours: Self {
    Self(
      encode: { $1.hourlyLimits = $0.transferBandwidthHours.isEmpty ? nil : $0.transferBandwidthHours.limits },
      decode: { $1.transferBandwidthHours = [TransferBandwidthHours]($0.hourlyLimits) })
  }

  fileprivate static var additionalHeaders: Self {
    Self(
      encode: {
        $1.httpAdditionalHeaders =
          $0.httpAdditionalHeaders == nil ? nil : [HeaderField]($0.additionalHeaderFields)
      },
      decode: {
        $1.httpAdditionalHeaders = $0.httpAdditionalHeaders.map {
          Dictionary($0.map { (AnyHashable($0.name), $0.value as Any) }, uniquingKeysWith: { first, _ in first })
        }
      })
  }

  fileprivate static var retry: Self {
    Self(
      encode: { $1.retry = $0.transferRetryPolicy?.description },
      decode: { $1.transferRetryPolicy = $0.retry.map { TransferRetryPolicy($0) } })
  }

  fileprivate static var transportSecurity: Self {
    // The service's own bundle has nothing to say about what its clients may do.
    Self(
      encode: { $1.appTransportSecurity = $0.appTransportSecurity?.json },
      decode: { $1.appTransportSecurity = $0.appTransportSecurity.map { AppTransportSecurity(json: $0) } })
  }

  fileprivate static var proxyDictionary: Self {
    Self(
      encode: { $1.connectionProxyDictionary = $0.connectionProxyDictionary.flatMap(ProxyDictionaryText.text) },
      decode: {
        $1.connectionProxyDictionary = $0.connectionProxyDictionary.flatMap(ProxyDictionaryText.dictionary)
      })
  }

  fileprivate static var proxyConfigurations: Self {
    Self(
      encode: {
        let proxies = $0.proxyConfigurations.compactMap { ProxyDescription($0) }
        $1.proxyConfigurations = proxies.isEmpty ? nil : proxies
      },
      decode: { $1.proxyConfigurations = ($0.proxyConfigurations ?? []).map { ProxyConfiguration($0) } })
  }

  fileprivate static var proxyEnvironment: Self {
    Self(
      encode: { configuration, options in
        // The service has another environment than the app, whose user has set the variables.
        guard configuration.connectionProxyDictionary == nil else { return }
        let variables = configuration.proxyEnvironment ?? ProxySelector.environment()
        options.proxyEnvironment = variables.isEmpty ? nil : variables
      },
      // The service's own variables are those of the process that happened to start it.
      decode: { $1.proxyEnvironment = $0.proxyEnvironment ?? [:] })
  }
}

extension TransportConfiguration.TrustRoots {
  /// Their files and folders, as absolute paths, since the service runs in another folder. nil for the system's own.
  fileprivate func paths(_ environment: [String: String]) -> [String]? {
    let paths =
      switch self {
      case .file(let path): [path]
      case .files(let paths): paths
      case .system: Self.named(in: environment)
      }
    if case .system = self, paths.isEmpty { return nil }
    return paths.map { URL(fileURLWithPath: $0).path }
  }
}

extension URLSessionConfiguration {
  /// Servers are asked for the languages of the app, not for those of the service. What the app says itself counts.
  fileprivate func addLanguage(of environment: [String: String]) {
    let name = "Accept-Language"
    guard let language = AcceptLanguage.value(environment: environment),
      !additionalHeaderFields.contains(name)
    else { return }
    httpAdditionalHeaders = (httpAdditionalHeaders ?? [:]).merging([AnyHashable(name): language]) { first, _ in first }
  }

  /// Why no message can hold the configuration; nil when one can.
  func uncarriedProperty() -> URLError? {
    if let unixSocketPath {
      return ErrorMapping.make(
        .cannotConnectToHost,
        because: "Background sessions don't load through a socket of the machine (\(unixSocketPath)).")
    }
    for proxy in proxyConfigurations where ProxyDescription(proxy) == nil {
      return ErrorMapping.make(
        .cannotConnectToHost,
        because: "Background sessions reach proxies by SOCKS 5 or CONNECT, at a host or a URL; \(proxy) is another.")
    }
    let uncarried = ProxyDictionaryText.uncarriedKeys(of: connectionProxyDictionary ?? [:])
    guard uncarried.isEmpty else {
      return ErrorMapping.make(
        .unknown,
        because: "A background session's connectionProxyDictionary can only have values of property list types; "
          + "\(uncarried.joined(separator: ", ")) has another.")
    }
    return nil
  }
}
