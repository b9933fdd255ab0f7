import Foundation
import HTTPTransport
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// A configuration on its way to the transfer service and back.
@Suite struct SessionOptionsCodingTests {
  /// The identifier is a field of `Attach`, and the trust roots travel as files. The others stay in the app: stores,
  /// protocol classes, and what tests set.
  static let uncarried: Set<String> = [
    "identifier", "httpCookieStorage", "urlCredentialStorage", "urlCache", "protocolClasses", "names", "provenNames",
    "networks", "countSentBytes", "observer", "transferConnector", "trustRoots", "hsts", "unixSocketPath",
    "ftpRequiresTLS", "http3HeadStart", "assumesHTTP3", "settingsPatience", "proxyPatience",
  ]

  private static func roundTrip(_ configuration: URLSessionConfiguration) throws -> URLSessionConfiguration {
    let encoded = try MessageFraming.encode(SessionOptions(configuration))
    return try MessageFraming.decode(SessionOptions.self, from: encoded).makeConfiguration()
  }

  private static func proxies() -> [ProxyConfiguration] {
    var tunnel = ProxyConfiguration(
      httpCONNECTProxy: .hostPort(host: "proxy.example", port: 8_080), tlsOptions: .init())
    tunnel.applyCredential(username: "me", password: "secret")
    tunnel.allowFailover = true
    tunnel.matchDomains = ["a.example"]
    tunnel.excludedDomains = ["b.a.example"]
    var plain = ProxyConfiguration(httpCONNECTProxy: .hostPort(host: "::1", port: 1))
    plain.matchDomains = ["c.example"]
    let socks = ProxyConfiguration(
      socksv5Proxy: URL(string: "socks5://proxy.example:1080").map { .url($0) } ?? .unix(path: "/"))
    return [tunnel, plain, socks]
  }

  @Test(arguments: URLSessionConfigurationTests.changes.map(\.name).filter { !uncarried.contains($0) })
  func everyPropertyArrives(name: String) throws {
    let configuration = URLSessionConfiguration.background(withIdentifier: "b")
    configuration.proxyEnvironment = [:]
    let before = URLSessionConfigurationTests.values(of: configuration)[name]
    try #require(URLSessionConfigurationTests.changes.first { $0.name == name }).change(configuration)
    if name == "proxyConfigurations" { configuration.proxyConfigurations = Self.proxies() }
    let sent = URLSessionConfigurationTests.values(of: configuration)[name]
    #expect(sent != before, "the test leaves it at its default")
    let decoded = try Self.roundTrip(configuration)
    #expect(URLSessionConfigurationTests.values(of: decoded)[name] == sent)
    let descriptions = decoded.proxyConfigurations.map { ProxyDescription($0) }
    #expect(descriptions == configuration.proxyConfigurations.map { ProxyDescription($0) })
    #expect(configuration.uncarriedProperty() == nil)
  }

  /// A property that is added later must be carried, or be listed above.
  @Test func thereIsNoPropertyButThese() {
    let names = URLSessionConfigurationTests.values(of: .background(withIdentifier: "b")).keys
    #expect(Set(names) == Set(URLSessionConfigurationTests.changes.map(\.name)).union(["identifier"]))
  }

  @Test func defaultsStayDefaults() throws {
    let configuration = URLSessionConfiguration.background(withIdentifier: "b")
    configuration.proxyEnvironment = [:]
    let decoded = URLSessionConfigurationTests.values(of: try Self.roundTrip(configuration))
    for (name, value) in URLSessionConfigurationTests.values(of: configuration) where !Self.uncarried.contains(name) {
      #expect(decoded[name] == value, "\(name)")
    }
  }

  static let authorities:
    [(roots: TransportConfiguration.TrustRoots, environment: [String: String], carried: [String]?)] = [
      (.system, [:], nil), (.system, ["SSL_CERT_FILE": ""], nil),
      (.system, ["SSL_CERT_FILE": "/a.pem"], ["/a.pem"]),
      (.system, ["SSL_CERT_DIR": "/b", "SSL_CERT_FILE": "/a.pem"], ["/a.pem", "/b"]),
      (.file("/own.pem"), ["SSL_CERT_FILE": "/a.pem"], ["/own.pem"]),
      (.files(["/own.pem", "/c"]), [:], ["/own.pem", "/c"]),
      (.files([]), ["SSL_CERT_FILE": "/a.pem"], []),
      (.file("own.pem"), [:], [FileManager.default.currentDirectoryPath + "/own.pem"]),
    ]

  /// The authorities that one app trusts count for its sessions, in whichever environment the service runs.
  @Test(arguments: authorities)
  func theAuthoritiesThatAnAppTrustsArrive(
    roots: TransportConfiguration.TrustRoots, environment: [String: String], carried: [String]?
  ) throws {
    let configuration = URLSessionConfiguration.background(withIdentifier: "b")
    configuration.trustRoots = roots
    let options = SessionOptions(configuration, environment: environment)
    #expect(options.certificateAuthorities == carried)
    let decoded = try MessageFraming.decode(SessionOptions.self, from: try MessageFraming.encode(options))
    #expect(decoded.makeConfiguration().trustRoots == carried.map { .files($0) } ?? .system)
  }

  /// Of the app's hosts that are loaded over TLS only the service gets the file, and one that names none has none.
  @Test func theFileOfTheHostsThatAreLoadedOverTLSArrives() throws {
    let configuration = URLSessionConfiguration.background(withIdentifier: "b")
    let options = SessionOptions(configuration)
    #expect(options.hstsFile?.hasPrefix("/") == true && options.hstsFile == HSTSStore.shared.path)
    let decoded = try MessageFraming.decode(SessionOptions.self, from: try MessageFraming.encode(options))
    #expect(decoded.makeConfiguration().hsts?.path == options.hstsFile)
    configuration.hsts = HSTSStore()
    #expect(SessionOptions(configuration).hstsFile == nil)
    #expect(SessionOptions().makeConfiguration().hsts?.path == nil)
    var relative = SessionOptions()
    relative.hstsFile = "hsts.json"
    #expect(relative.makeConfiguration().hsts?.path == nil)
  }

  @Test func theVariablesThatTheAppIsStartedWithArrive() throws {
    let environment = ["LANG": "de", "SECRET": "x", "LD_PRELOAD": "/x", "SSL_CERT_FILE": "/a.pem"]
    let options = SessionOptions(.background(withIdentifier: "b"), environment: environment)
    let decoded = try MessageFraming.decode(SessionOptions.self, from: try MessageFraming.encode(options))
    #expect(decoded.launchEnvironment == ["LANG": "de", "SSL_CERT_FILE": "/a.pem"])
  }

  /// What loads are run with is made of the decoded configuration.
  @Test func loadsAreRunWithWhatArrived() throws {
    let configuration = URLSessionConfiguration.background(withIdentifier: "b")
    configuration.requiresDNSSECValidation = true
    configuration.httpShouldUsePipelining = true
    configuration.proxyConfigurations = Self.proxies()
    let load = try Self.roundTrip(configuration).loadConfiguration
    #expect(load.requiresDNSSECValidation && load.usesPipelining && load.proxies != nil)
  }

  @Test func optionsOfOlderQueuesAreRead() throws {
    let old = #"{"allowsCellularAccess":false,"httpAdditionalHeaders":[["A","1"]],"timeoutIntervalForRequest":7}"#
    let configuration = try MessageFraming.decode(SessionOptions.self, from: Data(old.utf8)).makeConfiguration()
    #expect(!configuration.allowsCellularAccess && configuration.timeoutIntervalForRequest == 7)
    #expect(configuration.httpAdditionalHeaders as? [String: String] == ["A": "1"])
    #expect(configuration.proxyConfigurations.isEmpty && !configuration.requiresDNSSECValidation)
  }

  static let refused: [(name: String, change: @Sendable (URLSessionConfiguration) -> Void, code: URLError.Code)] = [
    ("a socket of the machine", { $0.unixSocketPath = "/s" }, .cannotConnectToHost),
    (
      "a relay", { $0.proxyConfigurations = [ProxyConfiguration(relayHops: [])] }, .cannotConnectToHost
    ),
    (
      "a Unix socket", { $0.proxyConfigurations = [ProxyConfiguration(socksv5Proxy: .unix(path: "/p"))] },
      .cannotConnectToHost
    ),
    ("an object", { $0.connectionProxyDictionary = ["HTTPProxy": NSObject()] }, .unknown),
  ]

  @Test(arguments: refused.map(\.name)) func whatNoMessageHoldsIsNamed(_ name: String) throws {
    let row = try #require(Self.refused.first { $0.name == name })
    let configuration = URLSessionConfiguration.background(withIdentifier: "b")
    row.change(configuration)
    let error = configuration.uncarriedProperty()
    #expect(error?.code == row.code && error?.localizedDescription.contains("ackground session") == true)
  }
}
