import Foundation
import HTTPSemantics
import TransferProtocol

extension SessionOptions {
  /// What the service has to know of `configuration`.
  init(_ configuration: URLSessionConfiguration) {
    self.init()
    sessionSendsLaunchEvents = configuration.sessionSendsLaunchEvents
    isDiscretionary = configuration.isDiscretionary
    sharedContainerIdentifier = configuration.sharedContainerIdentifier
    timeoutIntervalForRequest = finite(configuration.timeoutIntervalForRequest)
    timeoutIntervalForResource = finite(configuration.timeoutIntervalForResource)
    allowsCellularAccess = configuration.allowsCellularAccess
    allowsExpensiveNetworkAccess = configuration.allowsExpensiveNetworkAccess
    allowsConstrainedNetworkAccess = configuration.allowsConstrainedNetworkAccess
    networkServiceType = configuration.networkServiceType.rawValue
    httpAdditionalHeaders = configuration.loadConfiguration.additionalHeaders.fields
      .map { HeaderField($0.name, $0.value) }
    httpMaximumConnectionsPerHost = configuration.httpMaximumConnectionsPerHost
    httpShouldUsePipelining = configuration.httpShouldUsePipelining
    httpShouldSetCookies = configuration.httpShouldSetCookies
    requestCachePolicy = configuration.requestCachePolicy.rawValue
    tlsMinimumSupportedProtocolVersion = configuration.tlsMinimumSupportedProtocolVersion.rawValue
    tlsMaximumSupportedProtocolVersion = configuration.tlsMaximumSupportedProtocolVersion.rawValue
    appTransportSecurity = configuration.appTransportSecurity?.json
    connectionProxyDictionary = configuration.connectionProxyDictionary.flatMap(ProxyDictionaryText.text)
    // The service has another environment than the app, whose user has set the variables.
    if configuration.connectionProxyDictionary == nil {
      let variables = configuration.proxyEnvironment ?? ProxySelector.environment()
      proxyEnvironment = variables.isEmpty ? nil : variables
    }
  }
}
