/// The result of `FindProxyForURL` of a proxy auto-configuration script, such as `PROXY a:8080; SOCKS5 b; DIRECT`.
package enum PACAnswer {
  /// The ways to go, in the order in which they are to be tried. What is not understood is left out; when nothing is
  /// left, the connection is made directly, as every browser does.
  package static func routes(_ answer: String) -> [ProxyRoute] {
    let routes = answer.split(separator: ";").compactMap { route(String($0)) }
    return routes.isEmpty ? [.direct] : routes
  }

  private static func route(_ entry: String) -> ProxyRoute? {
    let words = entry.split(whereSeparator: \.isWhitespace)
    guard let keyword = words.first?.asciiLowercased() else { return nil }
    let kind: ProxyServer.Kind
    switch keyword {
    case "direct": return .direct
    case "proxy", "http": kind = .http
    case "https": kind = .https
    // The oldest scripts say SOCKS and mean version 4; Apple's loader speaks version 5 to it.
    case "socks", "socks5": kind = .socks5
    case "socks4": kind = .socks4
    default: return nil
    }
    guard words.count >= 2, let (host, port) = HostAndPort.split(words[1]), !host.isEmpty else { return nil }
    return .proxy(ProxyServer(kind, host: host.asciiLowercased(), port: port))
  }
}
