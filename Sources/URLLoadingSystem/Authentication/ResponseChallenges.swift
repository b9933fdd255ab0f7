import Foundation
import HTTPSemantics
import SystemServices

/// The challenges of one 401 or 407, and the credential that answers them. Confined to the load's event loop.
struct ResponseChallenges {
  /// The strongest scheme first.
  private let offers: [AuthenticationOffer]
  private let failureResponse: URLResponse?
  private let peer: ChallengingPeer
  private let context: LoadContext

  /// - Parameters:
  ///   - offers: the strongest first.
  ///   - failureResponse: shown to the app; nil where the peer answered with none.
  init(
    _ offers: [AuthenticationOffer], _ failureResponse: URLResponse?, from peer: ChallengingPeer,
    in context: LoadContext
  ) {
    self.offers = offers
    self.failureResponse = failureResponse
    self.peer = peer
    self.context = context
  }

  private var memory: AuthenticationMemory? { context.configuration.authentication }

  /// Whether the present credential is worth another request: the peer wants a fresh nonce, or the next step of a
  /// conversation.
  func continueConversation(_ state: inout RequestAuthentication) async -> Bool {
    context.loop.assertInEventLoop()
    state.attempt?.proof.bind(to: peer.certificate)
    guard let attempt = state.attempt, attempt.continuations < RequestAuthentication.maximumContinuations,
      await attempt.proof.goesOn(after: offers)
    else { return false }
    attempt.continuations += 1
    return true
  }

  /// Whether the credential that opened a proxy's tunnels before is worth another connection: the last one, on which
  /// nothing was said at first, is gone with its conversation. Tried once.
  func beginTunnels(_ state: inout RequestAuthentication) -> Bool {
    context.loop.assertInEventLoop()
    guard let attempt = state.attempt, attempt.isRemembered, attempt.continuations == 0,
      attempt.tunnels?.begin(answering: offers) == true
    else { return false }
    attempt.continuations += 1
    return true
  }

  /// Gives `state` the next credential. False when there is none: the response is the result.
  ///
  /// - Throws: A `URLError` when the app cancels the question.
  func chooseCredential(_ state: inout RequestAuthentication) async throws -> Bool {
    context.loop.assertInEventLoop()
    let refused = state.refused()
    if let refused, isRefused(refused) { memory?.forget(refused, at: peer.id) }
    memory?.note(offers, from: peer.id)
    guard !state.isExhausted else { return false }
    for option in options(without: state) {
      switch try await choose(option, refused, &state) {
      case .next: continue
      case .giveUp: return false
      case .use(let attempt):
        state.attempt = attempt
        return true
      }
    }
    return false
  }

  /// Whether the peer has no use for the credential any more. One that asks about another space says nothing about the
  /// credential of this one (RFC 9110 §11.5).
  private func isRefused(_ attempt: RequestAuthentication.Attempt) -> Bool {
    offers.isEmpty || offers.contains { peer.space(of: $0) == attempt.space }
  }

  // MARK: Options

  /// A space that the peer offers, and the challenge to be answered for it.
  private struct Option {
    let space: URLProtectionSpace
    let offer: AuthenticationOffer
  }

  private enum Choice {
    case use(RequestAuthentication.Attempt)
    /// The app wants no more of this space: the next one is tried.
    case next
    /// The response is the result.
    case giveUp
  }

  /// The strongest scheme first.
  private func options(without state: RequestAuthentication) -> [Option] {
    offers.compactMap { offer in
      if offer.scheme == .negotiate, !GSSAPI.isAvailable { return nil }
      let space = peer.space(of: offer)
      return state.isRejected(space) ? nil : Option(space: space, offer: offer)
    }
  }

  private func choose(
    _ option: Option, _ refused: RequestAuthentication.Attempt?, _ state: inout RequestAuthentication
  ) async throws -> Choice {
    let refusals = state.refusals(in: option.space)
    guard refusals < RequestAuthentication.maximumRefusals else { return .giveUp }
    // Another load may have been let in while this one waited for its answer.
    // It may also have been let in before, where this one carried the credential of another space.
    if let entry = memory?.entry(of: option.space, at: peer.id), peer.admits(entry.credential),
      refused?.space != option.space || entry.credential != refused?.credential
    {
      return .use(RequestAuthentication.Attempt(entry))
    }
    let proposal = refusals == 0 ? try await proposal(for: option) : nil
    guard context.client.load(context, mayAnswerChallengesOf: option.space.authenticationMethod) else {
      return await useProposal(proposal, option) ?? .next
    }
    let shown: URLCredential? =
      if let refused, refusals > 0 {
        // The app sees which credential was refused. A ticket is none that it knows.
        refused.space == option.space && !(refused.isOutsideStorage && option.offer.scheme == .negotiate)
          ? refused.credential : nil
      } else { proposal?.isTicket == true ? nil : proposal?.credential }
    let answer = try await ask(about: option.space, proposal: shown, failures: state.failures(before: option.space))
    switch answer.disposition {
    case .useCredential:
      guard let credential = answer.credential else { return .giveUp }
      memory?.approve(option.offer, of: peer.id)
      let isOutsideStorage = proposal?.isOutsideStorage == true && credential === proposal?.credential
      return await attempt(option, credential, isOutsideStorage: isOutsideStorage) ?? .next
    case .performDefaultHandling:
      // A ticket that is not there leaves the weaker schemes.
      return await useProposal(proposal, option) ?? (option.offer.scheme == .negotiate ? .next : .giveUp)
    case .rejectProtectionSpace:
      state.reject(option.space)
      return .next
    case .cancelAuthenticationChallenge:
      throw ErrorMapping.make(.cancelled, because: "The question of \(peer.host) for a credential was cancelled.")
    }
  }

  private func useProposal(_ proposal: Proposal?, _ option: Option) async -> Choice? {
    guard let proposal, proposal.mayBeUsedUnasked, proposal.credential.hasPassword else { return nil }
    return await attempt(option, proposal.credential, isOutsideStorage: proposal.isOutsideStorage)
  }

  /// nil where the credential can't answer the offer.
  private func attempt(_ option: Option, _ credential: URLCredential, isOutsideStorage: Bool) async -> Choice? {
    guard let proof = peer.proof(option.offer, credential) else { return nil }
    proof.bind(to: peer.certificate)
    guard await proof.begin(with: option.offer) else { return nil }
    return .use(
      RequestAuthentication.Attempt(
        space: option.space, credential: credential, proof: proof, isOutsideStorage: isOutsideStorage,
        isOfHop: peer.isNamedByRedirect && credential === peer.ownCredential))
  }

  // MARK: Asking

  private struct Proposal {
    let credential: URLCredential
    let isOutsideStorage: Bool
    /// Whether it stands for the user's Kerberos ticket.
    var isTicket = false
    /// False where the peer asks for less than it used to: the app decides then.
    var mayBeUsedUnasked = true
  }

  /// The credential of the URL or the proxy's settings, else the storage's default one, else the user's Kerberos ticket.
  private func proposal(for option: Option) async throws -> Proposal? {
    if let own = peer.ownCredential {
      return Proposal(
        credential: own, isOutsideStorage: true,
        mayBeUsedUnasked: memory?.maySendOwnCredential(answering: option.offer, of: peer.id) ?? true)
    }
    if let stored = try await context.client.load(context, defaultCredentialFor: option.space) {
      return Proposal(
        credential: stored, isOutsideStorage: false,
        mayBeUsedUnasked: memory?.maySendStoredCredential(answering: option.offer, of: peer.id) ?? true)
    }
    guard option.offer.scheme == .negotiate, await GSSAPI.hasTicket() else { return nil }
    let ticket = URLCredential(user: "", password: "", persistence: .forSession)
    return Proposal(credential: ticket, isOutsideStorage: true, isTicket: true)
  }

  private func ask(
    about space: URLProtectionSpace, proposal: URLCredential?, failures: Int
  ) async throws -> ChallengeAnswer {
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: proposal, previousFailureCount: failures,
      failureResponse: failureResponse)
    return try await context.control.whileClientHoldsLoad {
      try await context.client.load(context, didReceive: challenge)
    }
  }
}
