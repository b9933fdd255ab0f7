import Foundation
import TransferProtocol

extension ProxyDescription {
  /// nil for a proxy that is not supported: a relay, or one behind a Unix socket.
  init?(_ configuration: ProxyConfiguration) {
    let kind: Kind
    let place: NWEndpoint
    switch configuration.kind {
    case .socksV5(let endpoint): (kind, place) = (.socks5, endpoint)
    case .httpConnect(let endpoint, let options):
      (kind, place) = (options == nil ? .httpConnect : .httpConnectTLS, endpoint)
    case .relay, .obliviousHTTP: return nil
    }
    let endpoint: Endpoint
    switch place {
    case .hostPort(let host, let port): endpoint = .host(host.name, port: port.rawValue)
    case .url(let url): endpoint = .url(url.absoluteString)
    case .unix: return nil
    }
    self.init(
      kind: kind, endpoint: endpoint,
      credential: configuration.credential.map { Credential(username: $0.username, password: $0.password) },
      allowFailover: configuration.allowFailover, matchDomains: configuration.matchDomains,
      excludedDomains: configuration.excludedDomains)
  }
}

extension ProxyConfiguration {
  init(_ description: ProxyDescription) {
    let endpoint: NWEndpoint
    switch description.endpoint {
    case .host(let name, let port): endpoint = .hostPort(host: .init(name), port: .init(rawValue: port) ?? .any)
    // An endpoint without a host can't be connected to, and says so: the proxy is not left out.
    case .url(let text): endpoint = URL(string: text).map { .url($0) } ?? .hostPort(host: "", port: .any)
    }
    switch description.kind {
    case .socks5: self.init(socksv5Proxy: endpoint)
    case .httpConnect: self.init(httpCONNECTProxy: endpoint)
    case .httpConnectTLS: self.init(httpCONNECTProxy: endpoint, tlsOptions: .init())
    }
    if let credential = description.credential {
      applyCredential(username: credential.username, password: credential.password)
    }
    allowFailover = description.allowFailover
    matchDomains = description.matchDomains
    excludedDomains = description.excludedDomains
  }
}
