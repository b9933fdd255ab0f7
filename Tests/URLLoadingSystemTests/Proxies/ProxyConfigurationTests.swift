import Foundation
import Testing
import URLLoadingSystem

@Suite struct ProxyConfigurationTests {
  @Test func keepsWhatItWasGiven() {
    var proxy = ProxyConfiguration(httpCONNECTProxy: .hostPort(host: "proxy.example", port: 3_128))
    #expect(!proxy.allowFailover && proxy.matchDomains.isEmpty && proxy.excludedDomains.isEmpty)
    proxy.applyCredential(username: "u", password: "secret")
    #expect(proxy.credential?.username == "u")
    #expect(proxy.debugDescription == "HTTP CONNECT proxy.example:3128")
    let hop = ProxyConfiguration.RelayHop(
      http3RelayEndpoint: .url(URL(filePath: "/")), additionalHTTPHeaderFields: ["A": "b"])
    let oblivious = ProxyConfiguration(
      obliviousHTTPRelay: hop, relayResourcePath: "/r", gatewayKeyConfig: Data([1]), matchDomains: ["d"])
    #expect(oblivious.matchDomains == ["d"])
    guard case .obliviousHTTP(let kept, let path, let key) = oblivious.kind else {
      Issue.record("kept as another kind of proxy")
      return
    }
    #expect(kept.additionalHTTPHeaderFields == ["A": "b"])
    #expect(path == "/r" && key == Data([1]))
  }

  @Test(arguments: [("https", 443), ("80", 80), ("65536", nil), ("x", nil)] as [(String, UInt16?)])
  func portsReadNumbersAndServices(text: String, port: UInt16?) {
    #expect(NWEndpoint.Port(text)?.rawValue == port)
  }

  @Test func dictionaryKeysAreApplesPlainStrings() {
    #expect(kCFNetworkProxiesHTTPEnable == "HTTPEnable")
    #expect(kCFNetworkProxiesProxyAutoConfigURLString == "ProxyAutoConfigURLString")
    #expect(kCFProxyTypeKey == "kCFProxyTypeKey")
    #expect(kCFProxyTypeAutoConfigurationURL == "kCFProxyTypeAutoConfigurationURL")
  }
}
