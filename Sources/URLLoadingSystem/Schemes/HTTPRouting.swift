import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// The route of one request, of http or ftp, or of one stream of bytes: through which proxy it goes, which routes are
/// left when that fails, and the credential for the proxy. Only loads of sessions that know a proxy have one. Confined
/// to the load's loop.
struct HTTPRouting {
  /// The purpose of the connection.
  enum Purpose {
    case http, webSocket, ftp
    /// Bytes that are no HTTP.
    case stream

    /// The scheme by which rules know it.
    func scheme(isSecure: Bool) -> String {
      switch self {
      case .http: isSecure ? "https" : "http"
      case .webSocket: isSecure ? "wss" : "ws"
      case .ftp: "ftp"
      case .stream: isSecure ? "tcps" : "tcp"
      }
    }

    /// Whether an HTTP proxy can be asked for it.
    var isForProxies: Bool {
      switch self {
      case .http, .ftp: true
      case .webSocket, .stream: false
      }
    }
  }

  private let selector: ProxySelector
  /// nil for a stream.
  private let url: URL?
  /// The target without a proxy.
  private let plain: HTTPTarget
  private let purpose: Purpose
  /// The field that an app sets by itself, in the request or for all requests of the session.
  private let ownAuthorization: String?
  private var routes: ArraySlice<ProxyRoute>
  private var refusals = 0

  /// Whether no proxy is on the way to `target`, as far as that is known without asking.
  static func isDirect(_ target: HTTPTarget, as purpose: Purpose, in context: LoadContext) -> Bool {
    guard let selector = context.configuration.proxies else { return true }
    return selector.reachesDirectly(target.key) { destination(of: target.key, as: purpose) }
  }

  private static func destination(of key: ConnectionKey, as purpose: Purpose) -> ProxyDestination {
    ProxyDestination(
      scheme: purpose.scheme(isSecure: key.scheme == .https), host: key.host.asciiLowercased(), port: key.port)
  }

  /// Points `target` along its first route. nil when it goes directly and nothing is left to decide.
  ///
  /// - Parameter request: nil for a stream of bytes that is no HTTP.
  static func begin(
    _ target: inout HTTPTarget, for request: URLRequest?, as purpose: Purpose, in context: LoadContext
  ) async throws -> HTTPRouting? {
    guard let selector = context.configuration.proxies else { return nil }
    let key = target.key
    if isDirect(target, as: purpose, in: context) { return nil }
    let routes = try await selector.routes(to: request?.url, destination(of: key, as: purpose), in: context)
    let routing = HTTPRouting(
      selector: selector, url: request?.url, plain: target, purpose: purpose,
      ownAuthorization: request?.headerFields["Proxy-Authorization"]
        ?? context.configuration.additionalHeaders["Proxy-Authorization"], routes: routes[...])
    try routing.direct(&target)
    return routing
  }

  /// Points `target` along the first of the routes that are left. It keeps what earlier attempts have settled about the
  /// connection.
  private func direct(_ target: inout HTTPTarget) throws {
    let settled = target.key
    target = plain
    target.key.allowsHTTP2 = settled.allowsHTTP2
    target.key.isolation = settled.isolation
    switch routes.first ?? .direct {
    case .direct: return
    case .impossible(let sentence): throw ErrorMapping.make(.cannotConnectToHost, because: sentence)
    case .proxy(let server):
      guard !plain.key.requiresDNSSEC || IPAddressText(plain.key.host) != nil else {
        throw TransportError.unprovenName(
          host: plain.key.host, reason: "behind the proxy \(server.displayName) the name is resolved there")
      }
      let isForwarded =
        plain.key.scheme == .http && server.kind.isHTTP && !server.tunnelsPlainHTTP && purpose.isForProxies
      target.key.proxy = ProxyHop(
        server, use: isForwarded ? .forward : .tunnel,
        authorization: server.credential == nil && server.kind.isHTTP ? ownAuthorization : nil)
      guard isForwarded else { return }
      // RFC 9112 §3.2.2: a proxy is told the whole URL.
      target.requestTarget = "\(purpose.scheme(isSecure: false))://\(plain.authority)\(plain.requestTarget)"
      target.key.host = server.host
      target.key.port = server.port
    }
  }

  // MARK: When it does not work

  /// Whether there is something to try: another route, or a credential.
  func mayGoOn(after failure: ProxyFailure) -> Bool {
    if case .authenticationRequired = failure.cause { return true }
    return failure.isOutage && routes.count > 1
  }

  /// Points `target` along another route, or along the same one with a credential. Throws the failure when there is
  /// none.
  mutating func goOn(after failure: ProxyFailure, _ target: inout HTTPTarget, in context: LoadContext) async throws {
    if case .authenticationRequired(let head) = failure.cause {
      guard try await authenticate(to: failure.proxy, head, response: nil, in: context) else {
        throw TransportError.proxyFailed(failure)
      }
    } else {
      selector.noteOutage(of: failure.proxy)
      routes.removeFirst()
    }
    try direct(&target)
  }

  /// A proxy that was asked for the resource answered with 407: asks for a credential. Returns whether the request is
  /// to be sent again; if not, the response is the result.
  mutating func answer(
    _ loaded: LoadedResponse, _ target: inout HTTPTarget, in context: LoadContext
  ) async throws -> Bool {
    guard let hop = target.key.proxy, hop.use == .forward,
      try await authenticate(to: hop.server, loaded.head, response: loaded.response, in: context)
    else { return false }
    loaded.body.discard()
    try direct(&target)
    return true
  }

  /// Puts what the client says into the way; false when it says nothing.
  private mutating func authenticate(
    to server: ProxyServer, _ head: HTTPResponseHead?, response: URLResponse?, in context: LoadContext
  ) async throws -> Bool {
    guard let first = routes.first, case .proxy(var current) = first else { return false }
    var realm: String?
    if let head {
      let challenges = AuthenticationChallenge.all(in: head.fields, "Proxy-Authenticate")
      guard let basic = challenges.first(where: { $0.scheme == "basic" }) else { return false }
      realm = basic.realm
    }
    let method = NSURLAuthenticationMethodHTTPBasic
    guard refusals < HTTPRouting.maximumRefusals, context.client.load(context, mayAnswerChallengesOf: method) else {
      return false
    }
    let space = URLProtectionSpace(
      proxyHost: server.host, port: server.port, type: type(of: server), realm: realm, authenticationMethod: method)
    let failureResponse =
      response ?? head.flatMap { head in url.map { HTTPURLResponse(url: $0, head: head) } }
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, previousFailureCount: refusals, failureResponse: failureResponse)
    refusals += 1
    let answer = try await context.client.load(context, didReceive: challenge)
    switch answer.disposition {
    case .useCredential:
      guard let user = answer.credential?.user else { return false }
      current.credential = .init(username: user, password: answer.credential?.password ?? "")
      selector.remember(current.credential, for: current)
      routes[routes.startIndex] = .proxy(current)
      return true
    case .cancelAuthenticationChallenge:
      throw ErrorMapping.make(.cancelled, because: "The proxy's question for a user name and password was cancelled.")
    default: return false
    }
  }

  /// A delegate that gives the same wrong password again and again is asked no further.
  private static let maximumRefusals = 8

  private func type(of server: ProxyServer) -> String {
    switch server.kind {
    case .socks4, .socks4a, .socks5: NSURLProtectionSpaceSOCKSProxy
    case .http, .https:
      switch purpose {
      case .ftp: NSURLProtectionSpaceFTPProxy
      case .stream: NSURLProtectionSpaceHTTPSProxy
      case .http, .webSocket:
        plain.key.scheme == .https ? NSURLProtectionSpaceHTTPSProxy : NSURLProtectionSpaceHTTPProxy
      }
    }
  }
}
