import Foundation
import HTTPSemantics

extension ProxyConfiguration {
  /// The configurations of a session, ready to be asked.
  struct Rules: Sendable {
    private struct Rule {
      var route: ProxyRoute
      var allowsFailover: Bool
      /// Empty: every host.
      var included: ProxyExceptions
      var excluded: ProxyExceptions
    }

    private let rules: [Rule]

    init(_ configurations: [ProxyConfiguration]) {
      rules = configurations.map {
        Rule(
          route: $0.route, allowsFailover: $0.allowFailover,
          included: ProxyExceptions($0.matchDomains, dialect: .noProxy),
          excluded: ProxyExceptions($0.excludedDomains, dialect: .noProxy))
      }
    }

    /// In order, those that are meant for the destination, as far as each lets the next one be tried.
    func routes(for destination: ProxyDestination) -> [ProxyRoute] {
      var routes: [ProxyRoute] = []
      for rule in rules where !rule.excluded.contains(destination) {
        guard rule.included.isEmpty || rule.included.contains(destination) else { continue }
        routes.append(rule.route)
        guard rule.allowsFailover else { return routes }
      }
      return routes + [.direct]
    }
  }

  private var route: ProxyRoute {
    switch kind {
    case .socksV5(let endpoint): route(.socks5, endpoint)
    case .httpConnect(let endpoint, let options): route(options == nil ? .http : .https, endpoint)
    case .relay: .impossible("Relays (MASQUE) are not supported.")
    case .obliviousHTTP: .impossible("Oblivious HTTP relays are not supported.")
    }
  }

  private func route(_ kind: ProxyServer.Kind, _ endpoint: NWEndpoint) -> ProxyRoute {
    var server: ProxyServer
    switch endpoint {
    case .hostPort(let host, let port):
      let number = Int(port.rawValue)
      server = ProxyServer(kind, host: host.name.asciiLowercased(), port: number == 0 ? nil : number)
    case .url(let url):
      guard let host = url.host, !host.isEmpty else { return .impossible("The proxy's URL names no host.") }
      server = ProxyServer(kind, host: host.asciiLowercased(), port: url.port)
    case .unix: return .impossible("A proxy behind a Unix socket is not supported.")
    }
    server.credential = credential.map { .init(username: $0.username, password: $0.password) }
    server.tunnelsPlainHTTP = true
    return .proxy(server)
  }
}
