import Foundation
import HTTPSemantics
import HTTPTransport
import SystemFakes
import SystemServices
import Testing

@testable import URLLoadingSystem

@Suite struct URLSessionConfigurationTests {
  enum Kind: CaseIterable, Sendable {
    case standard, ephemeral, background

    var configuration: URLSessionConfiguration {
      switch self {
      case .standard: .default
      case .ephemeral: .ephemeral
      case .background: .background(withIdentifier: "org.example.transfers")
      }
    }
  }

  @Test(arguments: Kind.allCases) func hasApplesDefaults(kind: Kind) {
    let configuration = kind.configuration
    #expect(configuration.identifier == (kind == .background ? "org.example.transfers" : nil))
    #expect(configuration.requestCachePolicy == .useProtocolCachePolicy)
    #expect(configuration.timeoutIntervalForRequest == 60)
    #expect(configuration.timeoutIntervalForResource == 604_800)
    #expect(configuration.networkServiceType == .default)
    #expect(configuration.allowsCellularAccess)
    #expect(configuration.allowsExpensiveNetworkAccess)
    #expect(configuration.allowsConstrainedNetworkAccess)
    #expect(!configuration.allowsUltraConstrainedNetworkAccess)
    #expect(!configuration.requiresDNSSECValidation)
    #expect(!configuration.waitsForConnectivity)
    #expect(configuration.multipathServiceType == .none)
    #expect(!configuration.isDiscretionary)
    #expect(configuration.sharedContainerIdentifier == nil)
    #expect(configuration.sessionSendsLaunchEvents)
    #expect(!configuration.shouldUseExtendedBackgroundIdleMode)
    #expect(configuration.connectionProxyDictionary == nil)
    #expect(configuration.proxyConfigurations.isEmpty)
    #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv12)
    #expect(configuration.tlsMaximumSupportedProtocolVersion == .TLSv13)
    #expect(configuration.tlsMinimumSupportedProtocol == .tlsProtocol12)
    #expect(configuration.tlsMaximumSupportedProtocol == .tlsProtocol13)
    #expect(!configuration.httpShouldUsePipelining)
    #expect(configuration.httpShouldSetCookies)
    #expect(configuration.httpCookieAcceptPolicy == .onlyFromMainDocumentDomain)
    #expect(configuration.httpAdditionalHeaders == nil)
    #expect(configuration.httpMaximumConnectionsPerHost == 6)
    #expect(configuration.protocolClasses?.isEmpty == true)
    #expect(configuration.usesClassicLoadingMode)
    #expect(!configuration.enablesEarlyData)
  }

  @Test func storesAreSharedPrivateOrAbsent() throws {
    let standard = URLSessionConfiguration.default
    #expect(standard.httpCookieStorage === HTTPCookieStorage.shared)
    #expect(standard.urlCredentialStorage === URLCredentialStorage.shared)
    #expect(standard.urlCache === URLCache.shared)

    let ephemeral = URLSessionConfiguration.ephemeral
    let another = URLSessionConfiguration.ephemeral
    #expect(ephemeral.httpCookieStorage != nil && ephemeral.httpCookieStorage !== HTTPCookieStorage.shared)
    #expect(ephemeral.urlCredentialStorage != nil && ephemeral.urlCredentialStorage !== URLCredentialStorage.shared)
    #expect(ephemeral.urlCache != nil && ephemeral.urlCache !== URLCache.shared)
    #expect(ephemeral.urlCache?.diskCapacity == 0)
    #expect(ephemeral.httpCookieStorage !== another.httpCookieStorage)

    let background = URLSessionConfiguration.background(withIdentifier: "b")
    #expect(background.httpCookieStorage === HTTPCookieStorage.shared)
    #expect(background.urlCredentialStorage === URLCredentialStorage.shared)
    #expect(background.urlCache == nil)
  }

  static let changes: [(name: String, change: @Sendable (URLSessionConfiguration) -> Void)] = [
    ("requestCachePolicy", { $0.requestCachePolicy = .returnCacheDataElseLoad }),
    ("timeoutIntervalForRequest", { $0.timeoutIntervalForRequest = 1 }),
    ("timeoutIntervalForResource", { $0.timeoutIntervalForResource = 2 }),
    ("networkServiceType", { $0.networkServiceType = .video }),
    ("allowsCellularAccess", { $0.allowsCellularAccess = false }),
    ("allowsExpensiveNetworkAccess", { $0.allowsExpensiveNetworkAccess = false }),
    ("allowsConstrainedNetworkAccess", { $0.allowsConstrainedNetworkAccess = false }),
    ("allowsUltraConstrainedNetworkAccess", { $0.allowsUltraConstrainedNetworkAccess = true }),
    ("requiresDNSSECValidation", { $0.requiresDNSSECValidation = true }),
    ("waitsForConnectivity", { $0.waitsForConnectivity = true }),
    ("multipathServiceType", { $0.multipathServiceType = .handover }),
    ("isDiscretionary", { $0.isDiscretionary = true }),
    ("sharedContainerIdentifier", { $0.sharedContainerIdentifier = "group" }),
    ("sessionSendsLaunchEvents", { $0.sessionSendsLaunchEvents = false }),
    ("shouldUseExtendedBackgroundIdleMode", { $0.shouldUseExtendedBackgroundIdleMode = true }),
    ("connectionProxyDictionary", { $0.connectionProxyDictionary = [kCFNetworkProxiesHTTPEnable: 1] }),
    ("proxyConfigurations", { $0.proxyConfigurations = [ProxyConfiguration(socksv5Proxy: .unix(path: "/p"))] }),
    ("tlsMinimumSupportedProtocolVersion", { $0.tlsMinimumSupportedProtocolVersion = .TLSv13 }),
    ("tlsMaximumSupportedProtocolVersion", { $0.tlsMaximumSupportedProtocolVersion = .TLSv12 }),
    ("httpShouldUsePipelining", { $0.httpShouldUsePipelining = true }),
    ("httpShouldSetCookies", { $0.httpShouldSetCookies = false }),
    ("httpCookieAcceptPolicy", { $0.httpCookieAcceptPolicy = .never }),
    ("httpAdditionalHeaders", { $0.httpAdditionalHeaders = ["A": "1"] }),
    ("httpMaximumConnectionsPerHost", { $0.httpMaximumConnectionsPerHost = 2 }),
    ("unixSocketPath", { $0.unixSocketPath = "/s" }), ("ftpRequiresTLS", { $0.ftpRequiresTLS = true }),
    ("httpCookieStorage", { $0.httpCookieStorage = nil }),
    ("urlCredentialStorage", { $0.urlCredentialStorage = nil }),
    ("urlCache", { $0.urlCache = nil }),
    ("protocolClasses", { $0.protocolClasses = nil }),
    ("usesClassicLoadingMode", { $0.usesClassicLoadingMode = false }),
    ("enablesEarlyData", { $0.enablesEarlyData = true }),
    ("http3HeadStart", { $0.http3HeadStart = .seconds(9) }),
    ("assumesHTTP3", { $0.assumesHTTP3 = true }),
    ("settingsPatience", { $0.settingsPatience = .seconds(9) }),
    ("proxyPatience", { $0.proxyPatience = .seconds(9) }),
    ("appTransportSecurity", { $0.appTransportSecurity = AppTransportSecurity() }),
    ("proxyEnvironment", { $0.proxyEnvironment = ["http_proxy": "http://proxy.example:3128"] }),
    ("names", { $0.names = .system }),
    ("provenNames", { $0.provenNames = ProvenNames(address: "unix:path=/nowhere/bus") }),
    ("networks", { $0.networks = FakeNetworks() }),
    ("countSentBytes", { $0.countSentBytes = SentBytesCounter(name: "none") { _ in nil } }),
    ("observer", { $0.observer = LoadObserver { _, _ in } }),
    ("transferConnector", { $0.transferConnector = FakeTransferService() }),
    ("transferRetryPolicy", { $0.transferRetryPolicy = TransferRetryPolicy(maximumAttempts: 3, statuses: [503]) }),
    ("transferBandwidthLimit", { $0.transferBandwidthLimit = 5_000 }),
    (
      "transferBandwidthHours",
      {
        $0.transferBandwidthHours = [TransferBandwidthHours(start: 480, end: 1_080, bytesPerSecond: 5_000)]
          .compactMap { $0 }
      }
    ),
    ("trustRoots", { $0.trustRoots = .file("/roots.pem") }), ("hsts", { $0.hsts = nil }),
  ]

  /// Every stored property by name, as text, so that properties added later are covered too.
  static func values(of configuration: URLSessionConfiguration) -> [String: String] {
    Dictionary(
      Mirror(reflecting: configuration.values.withLock { $0 }).children.map { ($0.label ?? "", "\($0.value)") },
      uniquingKeysWith: { $1 })
  }

  @Test(arguments: changes.map(\.name)) func copiesTakeEveryValueAndAreIndependent(name: String) throws {
    let change = try #require(URLSessionConfigurationTests.changes.first { $0.name == name }).change
    let original = URLSessionConfiguration.background(withIdentifier: "c")
    original.urlCache = .shared
    let before = URLSessionConfigurationTests.values(of: original)
    let untouched = try #require(original.copy() as? URLSessionConfiguration)
    change(original)
    let changed = URLSessionConfigurationTests.values(of: original)
    #expect(changed != before)
    #expect(URLSessionConfigurationTests.values(of: untouched) == before)
    let copy = try #require(original.copy() as? URLSessionConfiguration)
    #expect(URLSessionConfigurationTests.values(of: copy) == changed)
  }

  @Test func everyPropertyIsInTheTableOfChanges() {
    let stored = Set(URLSessionConfigurationTests.values(of: .default).keys)
    #expect(stored.subtracting(URLSessionConfigurationTests.changes.map(\.name)) == ["identifier"])
  }

  @Test func theSnapshotForLoadsSaysTheSame() {
    let configuration = URLSessionConfiguration.default
    configuration.httpAdditionalHeaders = ["X-Number": 7, "Accept": "text/*", 3: "ignored"]
    configuration.timeoutIntervalForRequest = 4
    configuration.timeoutIntervalForResource = 5
    configuration.requestCachePolicy = .returnCacheDataElseLoad
    configuration.httpMaximumConnectionsPerHost = -1
    configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
    let load = configuration.loadConfiguration
    #expect(load.additionalHeaders == HTTPFields(["Accept": "text/*", "X-Number": "7"]))
    #expect(load.timeoutIntervalForRequest == 4)
    #expect(load.timeoutIntervalForResource == 5)
    #expect(load.cachePolicy == .returnCacheDataElseLoad)
    #expect(load.transport.maximumConnectionsPerHost == 1)
    #expect(load.transport.minimumTLSVersion == .tlsv13)
    #expect(load.transport.maximumTLSVersion == nil)
  }

  @Test func theOlderTLSNamesAreTheSameSetting() {
    let configuration = URLSessionConfiguration.default
    configuration.tlsMinimumSupportedProtocol = .tlsProtocol11
    configuration.tlsMaximumSupportedProtocol = .tlsProtocol12
    #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv11)
    #expect(configuration.tlsMaximumSupportedProtocolVersion == .TLSv12)
  }

  @Test func eachDefaultIsANewObject() {
    let changed = URLSessionConfiguration.default
    changed.timeoutIntervalForRequest = 1
    #expect(URLSessionConfiguration.default.timeoutIntervalForRequest == 60)
  }
}
