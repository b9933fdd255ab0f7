import Foundation

/// A proxy or relay for the connections of a session, and which hosts it is for.
public struct ProxyConfiguration: Sendable, CustomDebugStringConvertible {
  /// The kind of proxy and its protocol.
  package enum Kind: Sendable {
    case socksV5(NWEndpoint)
    case httpConnect(NWEndpoint, tlsOptions: NWProtocolTLS.Options?)
    case relay([RelayHop])
    case obliviousHTTP(RelayHop, resourcePath: String, gatewayKeyConfig: Data)
  }

  package let kind: Kind
  package private(set) var credential: (username: String, password: String)?

  /// Whether the connection is made without the proxy when the proxy does not work. Default false.
  public var allowFailover = false

  /// The proxy is used for these domains and their subdomains only. Default empty: for all.
  public var matchDomains: [String] = []

  /// The proxy is not used for these domains and their subdomains. Default empty.
  public var excludedDomains: [String] = []

  /// A SOCKS 5 proxy (RFC 1928).
  public init(socksv5Proxy proxyEndpoint: NWEndpoint) { kind = .socksV5(proxyEndpoint) }

  /// A proxy that opens tunnels with CONNECT (RFC 9110 §9.3.6), over HTTP/2 where it agrees on that in TLS.
  /// `tlsOptions` nil: spoken to without TLS.
  public init(httpCONNECTProxy proxyEndpoint: NWEndpoint, tlsOptions: NWProtocolTLS.Options? = nil) {
    kind = .httpConnect(proxyEndpoint, tlsOptions: tlsOptions)
  }

  /// One or two relays in a row, each reached through the one before.
  public init(relayHops: [RelayHop]) { kind = .relay(relayHops) }

  /// A relay of Oblivious HTTP (RFC 9458) that knows either who asks or what is asked, never both.
  ///
  /// - Parameters:
  ///   - relayHop: The relay.
  ///   - relayResourcePath: The path at the relay to which sealed requests are sent.
  ///   - gatewayKeyConfig: The gateway's key configuration (RFC 9458 §3).
  ///   - matchDomains: The hosts that the gateway serves.
  public init(
    obliviousHTTPRelay relayHop: RelayHop, relayResourcePath: String, gatewayKeyConfig: Data, matchDomains: [String]
  ) {
    kind = .obliviousHTTP(relayHop, resourcePath: relayResourcePath, gatewayKeyConfig: gatewayKeyConfig)
    self.matchDomains = matchDomains
  }

  /// Gives the user name and password that the proxy is shown.
  public mutating func applyCredential(username: String, password: String) { credential = (username, password) }

  /// The proxy without its credential.
  public var debugDescription: String {
    switch kind {
    case .socksV5(let endpoint): "SOCKSv5 \(endpoint)"
    case .httpConnect(let endpoint, let tlsOptions): "HTTP CONNECT \(endpoint)\(tlsOptions == nil ? "" : " over TLS")"
    case .relay(let hops): "relay of \(hops.count) hops"
    case .obliviousHTTP(_, let path, _): "oblivious HTTP relay at \(path)"
    }
  }
}

extension ProxyConfiguration {
  /// One relay (MASQUE, RFC 9298; or CONNECT) on the way to a host.
  public struct RelayHop: Sendable {
    package let http3RelayEndpoint: NWEndpoint?
    package let http2RelayEndpoint: NWEndpoint?
    package let tlsOptions: NWProtocolTLS.Options
    package let additionalHTTPHeaderFields: [String: String]

    /// A relay that speaks HTTP/3 and may also be reached by HTTP/2.
    public init(
      http3RelayEndpoint: NWEndpoint, http2RelayEndpoint: NWEndpoint? = nil,
      tlsOptions: NWProtocolTLS.Options = .init(), additionalHTTPHeaderFields: [String: String] = [:]
    ) {
      self.http3RelayEndpoint = http3RelayEndpoint
      self.http2RelayEndpoint = http2RelayEndpoint
      self.tlsOptions = tlsOptions
      self.additionalHTTPHeaderFields = additionalHTTPHeaderFields
    }

    /// A relay that speaks HTTP/2 only.
    public init(
      http2RelayEndpoint: NWEndpoint, tlsOptions: NWProtocolTLS.Options = .init(),
      additionalHTTPHeaderFields: [String: String] = [:]
    ) {
      http3RelayEndpoint = nil
      self.http2RelayEndpoint = http2RelayEndpoint
      self.tlsOptions = tlsOptions
      self.additionalHTTPHeaderFields = additionalHTTPHeaderFields
    }
  }
}
