import HTTPSemantics

/// The credentials that one hop of a load has tried at a server, or at a proxy. Confined to the load's event loop.
struct RequestAuthentication {
  /// The credential that the request under way carries.
  struct Attempt {
    let space: URLProtectionSpace
    let credential: URLCredential
    let proof: any AuthenticationProof
    /// Whether the session knew it before the server asked.
    var isRemembered = false
    /// Whether its connections have to speak HTTP/1.1, where they would speak HTTP/2 otherwise.
    var needsHTTP1 = false
    /// Whether no storage holds it: it stands in the request's URL, or for the user's Kerberos ticket.
    var isOutsideStorage = false
    /// The credential as the connections of a proxy's tunnels use it; nil where there are none.
    var tunnels: ProxyTunnels?
    /// Requests that were repeated because the server wanted the same credential in another form: a fresh nonce, the
    /// next step of a conversation.
    var continuations = 0
  }

  var attempt: Attempt?
  /// Spaces whose challenges are passed over: the app rejected them.
  var rejected: Set<URLProtectionSpace> = []
  /// How many credentials were refused, by space.
  private var refusals: [URLProtectionSpace: Int] = [:]
  /// The same, without credentials that were sent before this load was asked for them.
  private var refusedAnswers: [URLProtectionSpace: Int] = [:]

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
    refusals[refused.space, default: 0] += 1
    if !refused.isRemembered { refusedAnswers[refused.space, default: 0] += 1 }
    attempt = nil
    return refused
  }

  /// The peer has let the request in: later requests of the session carry the credential unasked, and the storage has it.
  mutating func keep(at peer: AuthenticationPeer, in context: LoadContext) {
    context.loop.assertInEventLoop()
    guard let attempt, !attempt.isRemembered else { return }
    if !attempt.isOutsideStorage, attempt.credential.persistence != .none {
      context.client.load(context, keep: attempt.credential, for: attempt.space)
    }
    context.configuration.authentication?.remember(attempt, at: peer)
    self.attempt?.isRemembered = true
  }

  /// Whether the server has refused so much that the response counts.
  var isExhausted: Bool { refusals.values.reduce(0, +) >= RequestAuthentication.maximumRefusalsInAll }

  func refusals(in space: URLProtectionSpace) -> Int { refusals[space] ?? 0 }

  /// The failures that a question about `space` tells the app: those of other schemes and realms are among them, as on
  /// Apple's systems. A credential of another space that the session sent by itself is no failure of an answer.
  func failures(before space: URLProtectionSpace) -> Int {
    refusedAnswers.reduce(refusals(in: space)) { $0 + ($1.key == space ? 0 : $1.value) }
  }
}

extension RequestAuthentication.Attempt {
  /// With a credential that the session was let in with before.
  init(_ entry: AuthenticationMemory.Entry) {
    self.init(
      space: entry.space, credential: entry.credential, proof: entry.proof.forNextRequest(), isRemembered: true,
      needsHTTP1: entry.needsHTTP1, tunnels: entry.tunnels)
  }
}
