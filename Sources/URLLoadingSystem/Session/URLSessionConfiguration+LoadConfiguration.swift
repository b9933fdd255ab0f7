import Foundation
import HTTPSemantics
import HTTPTransport
import SystemServices

extension URLSessionConfiguration {
  /// The part of the configuration that loads use, as it is now.
  package var loadConfiguration: LoadConfiguration {
    var load = LoadConfiguration()
    load.additionalHeaders = additionalHeaderFields
    load.timeoutIntervalForRequest = timeoutIntervalForRequest
    load.timeoutIntervalForResource = timeoutIntervalForResource
    load.cachePolicy = requestCachePolicy
    load.waitsForConnectivity = waitsForConnectivity
    load.forbiddenNetworks = NetworkTraits(forbiddenBy: self)
    load.networkServiceType = networkServiceType
    load.usesPipelining = httpShouldUsePipelining
    load.usesEarlyData = enablesEarlyData
    load.proxies = ProxySelector.make(
      dictionary: connectionProxyDictionary, configurations: proxyConfigurations, environment: proxyEnvironment)
    load.unixSocketPath = unixSocketPath
    load.requiresTLSForFTP = ftpRequiresTLS
    load.usesPassiveFTP = ProxySettings.usesPassiveFTP(connectionProxyDictionary)
    load.requiresDNSSECValidation = requiresDNSSECValidation
    load.transport.usesMultipath = multipathServiceType != .none
    load.transport.networks = networks
    load.transport.countSentBytes = countSentBytes
    load.transport.http3HeadStart = http3HeadStart
    load.transport.assumesHTTP3 = assumesHTTP3
    load.transport.certifiedHosts = ServerNames.reader
    load.transport.settingsPatience = settingsPatience
    load.transport.proxyPatience = proxyPatience
    load.transport.names = names ?? .system
    load.transport.provenNames = provenNames
    load.transport.trustRoots = trustRoots
    load.transportSecurity = appTransportSecurity?.rules
    load.transport.maximumConnectionsPerHost = max(1, httpMaximumConnectionsPerHost)
    switch tlsMinimumSupportedProtocolVersion {
    case .TLSv10: load.transport.minimumTLSVersion = .tlsv1
    case .TLSv11: load.transport.minimumTLSVersion = .tlsv11
    case .TLSv12, .DTLSv10, .DTLSv12: load.transport.minimumTLSVersion = .tlsv12
    case .TLSv13: load.transport.minimumTLSVersion = .tlsv13
    }
    switch tlsMaximumSupportedProtocolVersion {
    case .TLSv10: load.transport.maximumTLSVersion = .tlsv1
    case .TLSv11: load.transport.maximumTLSVersion = .tlsv11
    case .TLSv12: load.transport.maximumTLSVersion = .tlsv12
    case .TLSv13, .DTLSv10, .DTLSv12: load.transport.maximumTLSVersion = nil
    }
    load.authentication = urlCredentialStorage.map { AuthenticationMemory($0) }
    load.hsts = hsts
    load.cookies = LoadCookies(self)
    load.cache = urlCache.map { .own($0) } ?? .none
    load.protocols = ProtocolClasses(protocolClasses)
    load.observer = observer
    return load
  }

  /// `httpAdditionalHeaders` as fields, in the order of their names since a dictionary has none. Keys that are not
  /// strings are left out; values may be strings, numbers or anything that describes itself.
  var additionalHeaderFields: HTTPFields {
    let named = (httpAdditionalHeaders ?? [:]).compactMap { key, value in
      (key.base as? String).map { HTTPFields.Field(name: $0, value: value as? String ?? "\(value)") }
    }
    return HTTPFields(named.sorted { $0.name < $1.name })
  }
}
