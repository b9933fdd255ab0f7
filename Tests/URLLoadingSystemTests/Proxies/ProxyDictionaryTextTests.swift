import Foundation
import HTTPSemantics
import Testing
import TransferProtocol

@testable import URLLoadingSystem

@Suite struct ProxyDictionaryTextTests {
  /// What a background session is told, the service does.
  @Test func theServiceReadsWhatTheAppWrote() throws {
    let written: [AnyHashable: Any] = [
      kCFNetworkProxiesHTTPEnable: true, kCFNetworkProxiesHTTPProxy: "proxy.example", kCFNetworkProxiesHTTPPort: 3_128,
      kCFNetworkProxiesExceptionsList: ["*.local"], kCFProxyUsernameKey: "me", kCFProxyPasswordKey: "<&>",
      "unknown": NSObject(), 7: 8,
    ]
    let text = try #require(ProxyDictionaryText.text(written))
    let read = try #require(ProxyDictionaryText.dictionary(text))
    #expect(ProxySettings(dictionary: read) == ProxySettings(dictionary: written))
    #expect(ProxySettings(dictionary: read).http?.credential?.password == "<&>")
    #expect(ProxyDictionaryText.dictionary("no list") == nil)
  }

  @Test func anEmptyDictionaryStaysOne() throws {
    let configuration = URLSessionConfiguration.background(withIdentifier: "x")
    configuration.connectionProxyDictionary = [:]
    configuration.proxyEnvironment = ["http_proxy": "p"]
    let direct = SessionOptions(configuration)
    #expect(direct.connectionProxyDictionary.flatMap(ProxyDictionaryText.dictionary)?.isEmpty == true)
    #expect(direct.proxyEnvironment == nil)
    configuration.connectionProxyDictionary = nil
    #expect(SessionOptions(configuration).proxyEnvironment == ["http_proxy": "p"])
  }
}
