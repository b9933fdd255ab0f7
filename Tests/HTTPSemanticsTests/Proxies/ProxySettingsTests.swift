import HTTPSemantics
import Testing

@Suite struct ProxySettingsTests {
  private func route(_ settings: ProxySettings?, _ scheme: String, _ host: String = "a.example") -> ProxyRoute? {
    settings?.routes(for: ProxyDestination(scheme: scheme, host: host, port: scheme == "https" ? 443 : 80)).first
  }

  private func proxy(_ url: String) -> ProxyRoute? { ProxyServer(url: url).map { .proxy($0) } }

  @Test(
    arguments: [
      (["http_proxy": "p:1"], "http://p:1", nil), (["https_proxy": "p:1"], nil, "http://p:1"),
      (["HTTPS_PROXY": "p:1", "https_proxy": "q:1"], nil, "http://q:1"), (["HTTP_PROXY": "p:1"], "http://p:1", nil),
      (["all_proxy": "socks5://s"], "socks5://s", "socks5://s"),
      (["ALL_PROXY": "s:1", "http_proxy": "p:1"], "http://p:1", "http://s:1"),
      (["http_proxy": ""], nil, nil), (["http_proxy": "", "HTTP_PROXY": "p:1"], "http://p:1", nil), ([:], nil, nil),
      // The field "Proxy:" of a request to a CGI program arrives as HTTP_PROXY.
      (["REQUEST_METHOD": "GET", "HTTP_PROXY": "p:1"], nil, nil),
      (["REQUEST_METHOD": "GET", "http_proxy": "p:1", "https_proxy": "q:1"], nil, "http://q:1"),
      (["https_proxy": "gopher://x"], nil, nil),
    ] as [([String: String], String?, String?)])
  func environment(variables: [String: String], http: String?, https: String?) {
    let settings = ProxySettings(environment: variables)
    #expect((settings == nil) == (http == nil && https == nil))
    guard settings != nil else { return }
    #expect(route(settings, "http") == (http.flatMap(proxy) ?? .direct))
    #expect(route(settings, "https") == (https.flatMap(proxy) ?? .direct))
  }

  @Test(arguments: ["localhost", "x.localhost", "localhost.", "127.0.0.1", "127.1.2.3", "::1", "off.example"])
  func environmentLeavesOutThisMachineAndNoProxy(host: String) {
    let settings = ProxySettings(environment: ["all_proxy": "p:1", "NO_PROXY": "off.example"])
    #expect(route(settings, "http", host) == .direct)
    #expect(route(settings, "http", "on.example") == proxy("p:1"))
  }

  /// RFC 6455 §4.1. A proxy for plain HTTP passes no unknown bytes on.
  @Test(
    arguments: [
      (["https_proxy": "q:1", "all_proxy": "socks5://s"], "socks5://s", "socks5://s", "socks5://s"),
      (["http_proxy": "p:1", "https_proxy": "q:1"], "http://q:1", "http://q:1", "http://q:1"),
      (["http_proxy": "p:1"], "http://p:1", nil, nil),
      (["https_proxy": "q:1"], "http://q:1", "http://q:1", "http://q:1"),
      (["all_proxy": "a:1"], "http://a:1", "http://a:1", "http://a:1"),
      (["http_proxy": "socks4://p"], "socks4://p", nil, nil),
    ] as [([String: String], String?, String?, String?)])
  func tunnels(variables: [String: String], ws: String?, wss: String?, tcp: String?) {
    let settings = ProxySettings(environment: variables)
    #expect(route(settings, "ws") == (ws.flatMap(proxy) ?? .direct))
    #expect(route(settings, "wss") == (wss.flatMap(proxy) ?? .direct))
    #expect(route(settings, "tcp") == (tcp.flatMap(proxy) ?? .direct))
  }

  @Test func socksServesWhatHasNoProxyOfItsOwn() {
    var settings = ProxySettings()
    settings.http = ProxyServer(url: "p:1")
    settings.socks = ProxyServer(url: "socks5://s")
    #expect(route(settings, "http") == proxy("p:1"))
    #expect(route(settings, "https") == proxy("socks5://s"))
    #expect(route(settings, "wss") == proxy("socks5://s"))
    #expect(route(settings, "ftp") == proxy("socks5://s"))
    #expect(route(settings, "ws") == proxy("socks5://s"))
    #expect(route(settings, "tcp") == proxy("socks5://s"))
    settings.excludesSimpleNames = true
    #expect(route(settings, "http", "intranet") == .direct)
    #expect(route(settings, "http", "localhost.example") == proxy("p:1"))
  }
}
