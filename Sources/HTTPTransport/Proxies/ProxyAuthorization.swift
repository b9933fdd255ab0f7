import HTTPSemantics

/// How the requests to an HTTP proxy say who asks (RFC 9110 §11.7.2).
package enum ProxyAuthorization: Sendable {
  /// With this value of Proxy-Authorization in every request.
  case field(String)
  /// With what a credential answers, connection by connection. Only for tunnels: a request that is forwarded has its
  /// value among its own fields.
  case credential(any TunnelCredential)
}

extension ProxyAuthorization: Hashable {
  package static func == (left: ProxyAuthorization, right: ProxyAuthorization) -> Bool {
    switch (left, right) {
    case (.field(let left), .field(let right)): left == right
    case (.credential(let left), .credential(let right)): left === right
    case (.field, .credential), (.credential, .field): false
    }
  }

  package func hash(into hasher: inout Hasher) {
    switch self {
    case .field(let value): hasher.combine(value)
    case .credential(let credential): hasher.combine(ObjectIdentifier(credential))
    }
  }
}

/// A credential for an HTTP proxy. Tunnels that were opened with it serve the requests that share the object, and no others.
package protocol TunnelCredential: AnyObject, Sendable {
  /// Whether it authenticates the connection that carries it, which must be the tunnel's own then.
  var isOfConnection: Bool { get }
  /// For one connection that is to become a tunnel.
  func makeConversation() -> any TunnelConversation
}

/// The CONNECT requests of one connection, one after the other.
package protocol TunnelConversation: Sendable {
  /// The value of Proxy-Authorization for the next CONNECT; nil for none.
  ///
  /// - Parameters:
  ///   - target: host and port, as CONNECT has them.
  ///   - head: of the 407 to the CONNECT before it; nil for the first one.
  func value(for target: String, after head: HTTPResponseHead?) async -> String?
}
