import HTTPSemantics

/// The credentials that one hop of a load has tried at a server, or at a proxy. Confined to the load's event loop.
struct RequestAuthentication {
  /// The credential that the request under way carries. An object, since each stage of each request asks for it.
  final class Attempt {
    let space: URLProtectionSpace
    let credential: URLCredential
    let proof: any AuthenticationProof
    /// Whether the connections are to speak for the user.
    let isOfConnection: Bool
    /// Whether the session knew it before the server asked.
    fileprivate(set) var isRemembered: Bool
    /// Whether its connections have to speak HTTP/1.1, where they would speak HTTP/2 otherwise.
    var needsHTTP1: Bool
    /// Whether no storage holds it: it stands in the request's URL, or for the user's Kerberos ticket.
    let isOutsideStorage: Bool
    /// Whether it is for this hop alone.
    let isOfHop: Bool
    /// The credential as the connections of a proxy's tunnels use it; nil where there are none.
    var tunnels: ProxyTunnels?
    /// Requests that were repeated because the server wanted the same credential in another form: a fresh nonce, the
    /// next step of a conversation.
    var continuations = 0

    init(
      space: URLProtectionSpace, credential: URLCredential, proof: any AuthenticationProof, isRemembered: Bool = false,
      needsHTTP1: Bool = false, isOutsideStorage: Bool = false, isOfHop: Bool = false, tunnels: ProxyTunnels? = nil
    ) {
      (self.space, self.credential, self.proof) = (space, credential, proof)
      isOfConnection = proof.identity != .none
      (self.isRemembered, self.needsHTTP1) = (isRemembered, needsHTTP1)
      (self.isOutsideStorage, self.isOfHop, self.tunnels) = (isOutsideStorage, isOfHop, tunnels)
    }

    /// Whether the server's letting the request in changes nothing: neither a connection nor the session learns from it.
    var isSettled: Bool { isRemembered && !isOfConnection }
  }

  /// The outcome of earlier attempts. Copies of a `RequestAuthentication` share it: they are of one request.
  private final class Past {
    /// How many credentials were refused, by space.
    var refusals: [URLProtectionSpace: Int] = [:]
    /// The same, without credentials that were sent before this load was asked for them.
    var refusedAnswers: [URLProtectionSpace: Int] = [:]
    /// Spaces whose challenges are passed over: the app rejected them.
    var rejected: Set<URLProtectionSpace> = []
  }

  var attempt: Attempt?
  /// nil before anything was refused or rejected.
  private var past: Past?

  /// - Parameter attempt: a credential that is sent unasked.
  init(attempt: Attempt? = nil) { self.attempt = attempt }

  /// A delegate that gives the same wrong password again and again is asked no further.
  static let maximumRefusals = 8
  /// A server that asks about another space each time is answered no further.
  static let maximumRefusalsInAll = 32
  /// A server that never has enough of one credential is answered no further.
  static let maximumContinuations = 4

  /// The server did not take the credential of the present attempt.
  mutating func refused() -> Attempt? {
    guard let refused = attempt else { return nil }
    let past = madePast()
    past.refusals[refused.space, default: 0] += 1
    if !refused.isRemembered { past.refusedAnswers[refused.space, default: 0] += 1 }
    attempt = nil
    return refused
  }

  /// The app wants no more of a space.
  mutating func reject(_ space: URLProtectionSpace) { madePast().rejected.insert(space) }

  func isRejected(_ space: URLProtectionSpace) -> Bool { past?.rejected.contains(space) ?? false }

  private mutating func madePast() -> Past {
    let present = past ?? Past()
    past = present
    return present
  }

  /// The peer has let the request in: later requests of the session carry the credential unasked, and the storage has it.
  mutating func keep(at peer: AuthenticationPeer, in context: LoadContext) {
    context.loop.assertInEventLoop()
    guard let attempt, !attempt.isRemembered, !attempt.isOfHop else { return }
    if !attempt.isOutsideStorage, attempt.credential.persistence != .none {
      context.client.load(context, keep: attempt.credential, for: attempt.space)
    }
    context.configuration.authentication?.remember(attempt, at: peer)
    attempt.isRemembered = true
  }

  /// Whether the server has refused so much that the response counts.
  var isExhausted: Bool {
    (past?.refusals.values.reduce(0, +) ?? 0) >= RequestAuthentication.maximumRefusalsInAll
  }

  func refusals(in space: URLProtectionSpace) -> Int { past?.refusals[space] ?? 0 }

  /// The failures that a question about `space` tells the app: those of other schemes and realms are among them, as on
  /// Apple's systems. A credential of another space that the session sent by itself is no failure of an answer.
  func failures(before space: URLProtectionSpace) -> Int {
    (past?.refusedAnswers ?? [:]).reduce(refusals(in: space)) { $0 + ($1.key == space ? 0 : $1.value) }
  }
}

extension RequestAuthentication.Attempt {
  /// With a credential that the session was let in with before.
  convenience init(_ entry: AuthenticationMemory.Entry) {
    self.init(
      space: entry.space, credential: entry.credential, proof: entry.proof.forNextRequest(), isRemembered: true,
      needsHTTP1: entry.needsHTTP1, tunnels: entry.tunnels)
  }
}
