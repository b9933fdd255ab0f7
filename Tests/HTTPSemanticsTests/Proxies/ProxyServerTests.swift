import HTTPSemantics
import Testing

@Suite struct ProxyServerTests {
  @Test(
    arguments: [
      ("http://proxy.example:3128", "http://proxy.example:3128"), ("proxy.example:3128", "http://proxy.example:3128"),
      ("http://proxy.example:3128/", "http://proxy.example:3128"), ("PROXY.Example", "http://proxy.example:80"),
      ("https://proxy.example", "https://proxy.example:443"), ("socks5://s", "socks5://s:1080"),
      ("socks5h://s:1", "socks5://s:1"), ("socks://s", "socks5://s:1080"), ("socks4://s", "socks4://s:1080"),
      ("SOCKS4A://s", "socks4a://s:1080"), ("http://[::1]:3128", "http://[::1]:3128"), ("::1", "http://[::1]:80"),
      ("ftp://x", nil), ("http://", nil), ("", nil), ("http://a:0", nil), ("http://a:65536", nil), ("a:x", nil),
      ("http://[::1", nil),
    ] as [(String, String?)])
  func readsURLs(text: String, expected: String?) { #expect(ProxyServer(url: text)?.displayName == expected) }

  @Test(
    arguments: [
      ("http://u:p@h", "u", "p"), ("http://u@h", "u", ""), ("http://u%40x:p%3A%2F@h:1", "u@x", "p:/"),
      ("http://u:p:q@h", "u", "p:q"), ("http://u:p@q@h", "u", "p@q"),
    ])
  func readsCredentials(text: String, username: String, password: String) {
    #expect(ProxyServer(url: text)?.credential == .init(username: username, password: password))
    #expect(ProxyServer(url: text)?.host == "h")
    #expect(ProxyServer(url: text)?.displayName.contains("u") == false)
  }

  @Test(
    arguments: [
      ("PROXY a:1; SOCKS5 b:2; DIRECT", ["http://a:1", "socks5://b:2", "direct"]),
      ("DIRECT", ["direct"]), ("proxy a", ["http://a:80"]),
      (
        "HTTPS a; SOCKS b; SOCKS4 c:3 ",
        [
          "https://a:443", "socks5://b:1080", "socks4://c:3",
        ]
      ),
      ("", ["direct"]), (";;", ["direct"]), ("QUIC a:1", ["direct"]), ("QUIC a:1; HTTP b:8", ["http://b:8"]),
      ("PROXY", ["direct"]), ("PROXY a:b", ["direct"]), ("PROXY [::1]:8", ["http://[::1]:8"]), ("null", ["direct"]),
    ])
  func readsAnswersOfScripts(answer: String, expected: [String]) {
    #expect(PACAnswer.routes(answer).map(name) == expected)
  }

  private func name(_ route: ProxyRoute) -> String {
    switch route {
    case .direct: "direct"
    case .proxy(let server): server.displayName
    case .impossible(let reason): reason
    }
  }
}
