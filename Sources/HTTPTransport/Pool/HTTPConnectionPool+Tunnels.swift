/// Tunnels through proxies that speak HTTP/2.
extension HTTPConnectionPool {
  /// The key of the connections to a proxy whose streams may be the tunnel that `key` needs; nil where each tunnel is a
  /// connection of its own.
  func carrierKey(for key: ConnectionKey) -> ConnectionKey? {
    guard let hop = key.proxy, hop.use == .tunnel, hop.server.kind == .https, configuration.offersHTTP2,
      key.identity == .none
    else { return nil }
    if case .credential(let credential) = hop.authorization, credential.isOfConnection { return nil }
    var carrier = ConnectionKey(scheme: .http, host: hop.server.host, port: hop.server.port)
    carrier.proxy = ProxyHop(hop.server, use: .forward)
    carrier.trafficClass = key.trafficClass
    carrier.forbiddenNetworks = key.forbiddenNetworks
    return state.isKnownForHTTP1(carrier) ? nil : carrier
  }

  /// How the tunnel of a connection is opened; nil where the connector does it.
  func tunnelOpening(for key: ConnectionKey) -> TunnelOpening? {
    executor.loop.assertInEventLoop()
    guard let hop = key.proxy, let carrier = carrierKey(for: key) else { return nil }
    return TunnelOpening(hop, to: key, over: carrier, in: self)
  }
}
