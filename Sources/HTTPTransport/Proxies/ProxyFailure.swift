import HTTPSemantics

/// Why a proxy did not let a connection through.
package struct ProxyFailure: Error, Sendable {
  package enum Cause: Sendable {
    /// Its name has no address.
    case notFound(reason: String)
    /// No address of it takes the connection.
    case unreachable(reason: String)
    /// TLS with the proxy itself failed.
    case insecure(reason: String)
    /// It closed the connection, or said nothing, instead of an answer.
    case silent
    /// Its answer is not of its protocol.
    case malformed(reason: String)
    /// It wants to know who asks (407), or does not take what it was shown. The head is that of an HTTP proxy.
    case authenticationRequired(HTTPResponseHead?)
    /// It answered CONNECT with this status.
    case status(HTTPResponseHead)
    /// It answered with this code of SOCKS 5 (RFC 1928 §6) or SOCKS 4.
    case socksReply(version: Int, code: UInt8)
    /// The request can't be put into its protocol.
    case unsuitable(reason: String)
  }

  package let proxy: ProxyServer
  package let cause: Cause

  package init(_ proxy: ProxyServer, _ cause: Cause) {
    self.proxy = proxy
    self.cause = cause
  }

  /// Whether the proxy itself does not work, so that another way is worth a try; not so when it has refused.
  package var isOutage: Bool {
    switch cause {
    case .notFound, .unreachable, .insecure, .silent, .malformed: true
    case .authenticationRequired, .status, .socksReply, .unsuitable: false
    }
  }

  /// The failure in words, without credentials.
  package var phrase: String {
    switch cause {
    case .notFound(let reason): "The proxy \(proxy.displayName) could not be found: \(reason)"
    case .unreachable(let reason): "Could not connect to the proxy \(proxy.displayName): \(reason)"
    case .insecure(let reason): "The proxy \(proxy.displayName) could not be spoken to securely: \(reason)"
    case .silent: "The proxy \(proxy.displayName) closed the connection instead of answering"
    case .malformed(let reason): "The proxy \(proxy.displayName) gave an answer that makes no sense: \(reason)"
    case .authenticationRequired: "The proxy \(proxy.displayName) requires a user name and password that it accepts"
    case .status(let head):
      "The proxy \(proxy.displayName) refused the tunnel with status \(head.status)"
        + (head.reason.isEmpty ? "" : " (\(head.reason))")
    case .socksReply(let version, let code):
      "The proxy \(proxy.displayName) refused: \(ProxyFailure.words(version: version, code: code))"
    case .unsuitable(let reason): "The proxy \(proxy.displayName) can't be asked for this: \(reason)"
    }
  }

  private static func words(version: Int, code: UInt8) -> String {
    guard version == 5 else {
      switch code {
      case 91: return "request rejected or failed (91)"
      case 92: return "it can't reach the identity service of this machine (92)"
      case 93: return "it does not believe the user name (93)"
      default: return "code \(code)"
      }
    }
    switch code {
    case 1: return "general failure (1)"
    case 2: return "the connection is not allowed by its rules (2)"
    case 3: return "the network is unreachable from it (3)"
    case 4: return "the host is unreachable from it (4)"
    case 5: return "the host refused the connection (5)"
    case 6: return "the connection's time to live expired (6)"
    case 7: return "it does not know the command (7)"
    case 8: return "it does not know the kind of address (8)"
    default: return "code \(code)"
    }
  }
}
