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
  /// The credentials that the proxy in front was shown.
  var authentication = RequestAuthentication()
  private let memory: AuthenticationMemory?

  /// Whether no proxy is on the way to `target`, as far as that is known without asking.
  static func isDirect(_ target: HTTPTarget, as purpose: Purpose, in context: LoadContext) -> Bool {
    guard target.key.socketPath == nil, let selector = context.configuration.proxies else { return true }
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
    var routing = HTTPRouting(
      selector: selector, url: request?.url, plain: target, purpose: purpose,
      ownAuthorization: request?.headerFields["Proxy-Authorization"]
        ?? context.configuration.additionalHeaders["Proxy-Authorization"], routes: routes[...],
      memory: context.configuration.authentication)
    try routing.direct(&target)
    return routing
  }

  /// Points `target` along the first of the routes that are left. It keeps what earlier attempts have settled about the
  /// connection.
  private mutating func direct(_ target: inout HTTPTarget) throws {
    var key = plain.key
    key.allowsHTTP2 = target.key.allowsHTTP2
    key.isolation = target.key.isolation
    key.identity = target.key.identity
    target = plain
    defer { if key != plain.key { target.key = key } }
    switch routes.first ?? .direct {
    case .direct: return
    case .impossible(let sentence): throw ErrorMapping.make(.cannotConnectToHost, because: sentence)
    case .proxy(let server):
      guard !plain.key.requiresDNSSEC || IPAddressText(plain.key.host) != nil else {
        throw TransportError.unprovenName(
          host: plain.key.host, reason: "behind the proxy \(server.displayName) the name is resolved there")
      }
      let isForwarded = isForwarding(server)
      key.proxy = ProxyHop(
        server, use: isForwarded ? .forward : .tunnel, authorization: authorization(for: server, isForwarded))
      guard isForwarded else { return }
      // RFC 9112 §3.2.2: a proxy is told the whole URL.
      target.requestTarget = "\(purpose.scheme(isSecure: false))://\(plain.authority)\(plain.requestTarget)"
      key.host = server.host
      key.port = server.port
    }
  }

  /// The user for whom a connection speaks to the proxy; none where the proxy opens tunnels.
  var identity: ConnectionIdentity {
    guard case .proxy(let server)? = routes.first, isForwarding(server) else { return .none }
    return authentication.attempt?.proof.identity ?? .none
  }

  private func isForwarding(_ server: ProxyServer) -> Bool {
    plain.key.scheme == .http && server.kind.isHTTP && !server.tunnelsPlainHTTP && purpose.isForProxies
  }

  /// The app's own value counts, unless the settings name a credential; else a credential that the session was let in
  /// with before goes out unasked.
  private mutating func authorization(for server: ProxyServer, _ isForwarded: Bool) -> ProxyAuthorization? {
    guard server.kind.isHTTP else { return nil }
    if let ownAuthorization, server.credential == nil, authentication.attempt == nil { return .field(ownAuthorization) }
    let peer = ChallengingPeer(server, type: type(of: server))
    if authentication.attempt == nil, let memory, !memory.isEmpty,
      let entry = memory.entry(for: "", at: peer.id), peer.admits(entry.credential)
    {
      authentication.attempt = RequestAuthentication.Attempt(entry)
    }
    guard !isForwarded, let attempt = authentication.attempt else { return nil }
    let tunnels = attempt.tunnels ?? ProxyTunnels(attempt.proof, isPrepared: true)
    authentication.attempt?.tunnels = tunnels
    return .credential(tunnels)
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
    context.loop.assertInEventLoop()
    if case .authenticationRequired(let head) = failure.cause {
      guard try await authenticate(to: failure.proxy, head, in: context) else {
        throw TransportError.proxyFailed(failure)
      }
    } else {
      selector.noteOutage(of: failure.proxy)
      routes.removeFirst()
      authentication = RequestAuthentication()
    }
    try direct(&target)
  }

  /// A proxy refused a tunnel for want of a credential. Returns whether there is one to try.
  private mutating func authenticate(
    to server: ProxyServer, _ head: HTTPResponseHead?, in context: LoadContext
  ) async throws -> Bool {
    guard let head else { return try await authenticateToSOCKS(server, in: context) }
    let challenges = challenges(of: head, url.map { HTTPURLResponse(url: $0, head: head) }, from: server, in: context)
    if authentication.attempt?.proof.identity == ConnectionIdentity.none {
      if await challenges.continueConversation(&authentication) { return true }
    } else if challenges.beginTunnels(&authentication) {
      return true
    }
    return try await challenges.chooseCredential(&authentication)
  }

  private mutating func authenticateToSOCKS(_ server: ProxyServer, in context: LoadContext) async throws -> Bool {
    guard let first = routes.first, case .proxy(var current) = first else { return false }
    let peer = ChallengingPeer(server, type: type(of: server))
    if authentication.attempt == nil, let shown = peer.ownCredential {
      authentication.attempt = RequestAuthentication.Attempt(
        space: peer.space(of: ChallengingPeer.offerOfSOCKS), credential: shown, proof: SOCKSProof(),
        isOutsideStorage: true)
    }
    selector.remember(nil, for: current)
    let challenges = ResponseChallenges([ChallengingPeer.offerOfSOCKS], nil, from: peer, in: context)
    guard try await challenges.chooseCredential(&authentication), let credential = authentication.attempt?.credential,
      let user = credential.user
    else { return false }
    current.credential = credential.withPassword {
      ProxyServer.Credential(username: user, secret: OverwrittenBytes(copying: $0))
    }
    routes[routes.startIndex] = .proxy(current)
    return true
  }

  private func challenges(
    of head: HTTPResponseHead, _ response: URLResponse?, from server: ProxyServer, in context: LoadContext
  ) -> ResponseChallenges {
    let challenges = AuthenticationChallenge.all(in: head.fields, "Proxy-Authenticate")
    return ResponseChallenges(
      AuthenticationChoice.offers(in: challenges), response, from: ChallengingPeer(server, type: type(of: server)),
      in: context)
  }

  // MARK: Proxies that are asked for the resource

  /// The challenges of a 407; nil where no proxy was asked to forward the request.
  func challenges(of loaded: LoadedResponse, to target: HTTPTarget, in context: LoadContext) -> ResponseChallenges? {
    guard let hop = target.key.proxy, hop.use == .forward, let head = loaded.head else { return nil }
    return challenges(of: head, loaded.response, from: hop.server, in: context)
  }

  /// Points `target` along the same route, with the present credential.
  mutating func goOn(_ target: inout HTTPTarget) throws { try direct(&target) }

  /// The proxy has let a request through: its credential is used unasked from now on.
  mutating func letThrough(_ target: HTTPTarget, in context: LoadContext) {
    guard let hop = target.key.proxy else { return }
    if !hop.server.kind.isHTTP, let attempt = authentication.attempt, attempt.credential.persistence != .none {
      selector.remember(hop.server.credential, for: hop.server)
    }
    authentication.keep(at: AuthenticationPeer(hop.server), in: context)
  }

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
