/// Which proxy serves which URL: the rules of a proxy dictionary or of the environment.
package struct ProxySettings: Sendable, Hashable {
  /// How to find out when the rules themselves do not say: a PAC script decides.
  package enum Automatic: Sendable, Hashable {
    case script(String)
    case url(String)
    /// `http://wpad/wpad.dat`, in the domains that the resolver searches.
    case discovery
  }

  package var http: ProxyServer?
  package var https: ProxyServer?
  package var ftp: ProxyServer?
  /// For every scheme that has no proxy of its own.
  package var socks: ProxyServer?
  package var exceptions = ProxyExceptions.none
  /// Whether names without a dot are reached directly.
  package var excludesSimpleNames = false
  /// Whether this machine itself is reached directly.
  package var excludesLoopback = false
  /// Asked before the proxies above, which serve when the script can't be had.
  package var automatic: Automatic?

  package init() {}

  /// Whether they never lead through a proxy.
  package var areDirect: Bool { http == nil && https == nil && ftp == nil && socks == nil && automatic == nil }

  /// Whether the destination is reached directly, whatever proxies there are.
  package func excludes(_ destination: ProxyDestination) -> Bool {
    (excludesSimpleNames && destination.isSimpleName) || (excludesLoopback && destination.isLoopback)
      || exceptions.contains(destination)
  }

  /// The ways to go, best first, as far as no script has to be asked. Never empty.
  package func routes(for destination: ProxyDestination) -> [ProxyRoute] {
    guard !excludes(destination) else { return [.direct] }
    let own: ProxyServer? =
      switch destination.scheme {
      case "http": http
      case "https": https
      case "ftp": ftp
      // RFC 6455 §4.1: SOCKS before HTTPS, and this before HTTP.
      case "ws": tunnel ?? http
      case "wss", "tcp": tunnel
      default: nil
      }
    return [(own ?? socks).map { .proxy($0) } ?? .direct]
  }

  /// The proxy that suits what HTTP proxies can only pass on.
  private var tunnel: ProxyServer? {
    if let socks, !socks.kind.isHTTP { return socks }
    return https
  }
}

extension ProxySettings {
  /// The conventions of the environment, as curl has them: `http_proxy`, `https_proxy`, `ftp_proxy`, `all_proxy`,
  /// `no_proxy`, in lower case before upper case. This machine itself is always reached directly.
  ///
  /// nil when the environment names no proxy. A program that answers web requests through CGI is handed the field
  /// `Proxy:` of the request as HTTP_PROXY: where REQUEST_METHOD is set, `http_proxy` is ignored.
  package init?(environment: [String: String]) {
    func value(_ name: String) -> String? {
      [name, name.uppercased()].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
    func server(_ name: String) -> ProxyServer? { value(name).flatMap(ProxyServer.init(url:)) }
    self.init()
    let all = server("all_proxy")
    http = (environment["REQUEST_METHOD"] == nil ? server("http_proxy") : nil) ?? all
    https = server("https_proxy") ?? all
    ftp = server("ftp_proxy") ?? all
    socks = all
    guard !areDirect else { return nil }
    exceptions = ProxySettings.exceptions(ofEnvironment: environment)
    excludesLoopback = true
  }

  package static func exceptions(ofEnvironment environment: [String: String]) -> ProxyExceptions {
    ProxyExceptions(noProxy: environment["no_proxy"] ?? environment["NO_PROXY"] ?? "")
  }

  /// The variables that `init(environment:)` reads.
  package static let environmentNames: [String] =
    ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"]
    .flatMap { [$0, $0.uppercased()] } + ["REQUEST_METHOD"]
}
