import Foundation
import HTTPSemantics
import HTTPTransport
import SystemServices

/// The challenges of one 401, and how the load answers them. Confined to the load's event loop.
struct ServerChallenges {
  private let challenges: [AuthenticationChallenge]
  private let response: LoadedResponse
  private let target: HTTPTarget
  private let run: PipelineRun

  init(
    _ challenges: [AuthenticationChallenge], _ response: LoadedResponse, _ target: HTTPTarget, _ run: PipelineRun
  ) {
    self.challenges = challenges
    self.response = response
    self.target = target
    self.run = run
  }

  private var context: LoadContext { run.context }

  /// - Returns: `again` with a credential, or `proceed`: the 401 is the result.
  func answer() async throws -> LoadStep {
    var state = run.authentication ?? RequestAuthentication()
    defer { run.authentication = state }
    if var attempt = state.attempt, attempt.continuations < RequestAuthentication.maximumContinuations,
      await attempt.proof.goesOn(after: AuthenticationChoice.offers(in: challenges))
    {
      attempt.continuations += 1
      state.attempt = attempt
      return await again(attempt)
    }
    let refused = state.refused()
    run.network?.giveUpReservation()
    if let refused { context.configuration.authentication?.forget(refused, at: target) }
    guard !state.isExhausted else { return .proceed }
    for option in options(without: state.rejected) {
      switch try await choose(option, refused, &state) {
      case .next: continue
      case .giveUp: return .proceed
      case .use(let attempt):
        state.attempt = attempt
        return await again(attempt)
      }
    }
    return .proceed
  }

  private func again(_ attempt: RequestAuthentication.Attempt) async -> LoadStep {
    if attempt.proof.identity != .none { await run.network?.reserveConnection(for: attempt.proof.identity) }
    await response.body.drain()
    return .again
  }

  // MARK: Options

  /// A space that the server offers, and the challenge to be answered for it.
  private struct Option {
    let space: URLProtectionSpace
    let offer: AuthenticationOffer
  }

  private enum Choice {
    case use(RequestAuthentication.Attempt)
    /// The app wants no more of this space: the next one is tried.
    case next
    /// The 401 is the result.
    case giveUp
  }

  /// The strongest scheme first.
  private func options(without rejected: Set<URLProtectionSpace>) -> [Option] {
    AuthenticationChoice.offers(in: challenges).compactMap { offer in
      if offer.scheme == .negotiate, !GSSAPI.isAvailable { return nil }
      let space = URLProtectionSpace(target.key, offer)
      return rejected.contains(space) ? nil : Option(space: space, offer: offer)
    }
  }

  private func choose(
    _ option: Option, _ refused: RequestAuthentication.Attempt?, _ state: inout RequestAuthentication
  ) async throws -> Choice {
    let refusals = state.refusals(in: option.space)
    guard refusals < RequestAuthentication.maximumRefusals else { return .giveUp }
    // Another load may have been let in while this one waited for its answer.
    if let entry = context.configuration.authentication?.entry(of: option.space, at: target),
      entry.credential != refused?.credential, isForURL(entry.credential)
    {
      return .use(
        RequestAuthentication.Attempt(
          space: entry.space, credential: entry.credential, proof: entry.proof.forNextRequest(), isRemembered: true))
    }
    let proposal = refusals == 0 ? await proposal(for: option) : nil
    guard context.client.load(context, mayAnswerChallengesOf: option.space.authenticationMethod) else {
      return await useProposal(proposal, option) ?? .next
    }
    let shown = proposal?.isTicket == true ? nil : proposal?.credential
    let answer = try await ask(about: option.space, proposal: shown, refusals: refusals)
    switch answer.disposition {
    case .useCredential:
      guard let credential = answer.credential else { return .giveUp }
      let isOutsideStorage = proposal?.isOutsideStorage == true && credential === proposal?.credential
      return await attempt(option, credential, isOutsideStorage: isOutsideStorage) ?? .next
    case .performDefaultHandling:
      // A ticket that is not there leaves the weaker schemes.
      return await useProposal(proposal, option) ?? (option.offer.scheme == .negotiate ? .next : .giveUp)
    case .rejectProtectionSpace:
      state.rejected.insert(option.space)
      return .next
    case .cancelAuthenticationChallenge:
      response.body.discard()
      throw ErrorMapping.urlError(
        ErrorMapping.make(
          .cancelled, because: "The question of \(target.key.host) for a credential was cancelled."),
        url: run.request.urlRequest.url)
    }
  }

  private func useProposal(_ proposal: Proposal?, _ option: Option) async -> Choice? {
    guard let proposal, proposal.credential.hasPassword else { return nil }
    return await attempt(option, proposal.credential, isOutsideStorage: proposal.isOutsideStorage)
  }

  /// nil where the credential can't answer the offer.
  private func attempt(_ option: Option, _ credential: URLCredential, isOutsideStorage: Bool) async -> Choice? {
    guard let proof = proof(option.offer, credential), await proof.begin(with: option.offer) else { return nil }
    return .use(
      RequestAuthentication.Attempt(
        space: option.space, credential: credential, proof: proof, isOutsideStorage: isOutsideStorage))
  }

  /// nil where the credential can't answer the offer.
  private func proof(_ offer: AuthenticationOffer, _ credential: URLCredential) -> (any AuthenticationProof)? {
    let url = URIReference(run.request.urlRequest.url?.absoluteString ?? "")
    switch offer {
    case .basic(let challenge):
      return BasicProof(credential, for: challenge, scope: AuthenticationScope(basicChallengeAt: url))
    case .digest(let challenge):
      return DigestProof(credential, for: challenge, scope: AuthenticationScope(challenge, at: url))
    case .ntlm: return NTLMProof(credential, host: target.key.host)
    case .bearer(let challenge): return BearerProof(credential, for: challenge, scope: url)
    case .negotiate: return NegotiateProof(credential, host: target.key.host)
    }
  }

  private func isForURL(_ credential: URLCredential) -> Bool {
    guard target.namesUser, let own = URLCredential(in: run.request.urlRequest.url) else { return true }
    return own.isSameUser(as: credential)
  }

  // MARK: Asking

  private struct Proposal {
    let credential: URLCredential
    let isOutsideStorage: Bool
    /// Whether it stands for the user's Kerberos ticket.
    var isTicket = false
  }

  /// The credential in the URL, else the storage's default one, else the user's Kerberos ticket.
  private func proposal(for option: Option) async -> Proposal? {
    if target.namesUser, let own = URLCredential(in: run.request.urlRequest.url) {
      return Proposal(credential: own, isOutsideStorage: true)
    }
    if let stored = await context.client.load(context, defaultCredentialFor: option.space) {
      return Proposal(credential: stored, isOutsideStorage: false)
    }
    guard option.offer.scheme == .negotiate, await GSSAPI.hasTicket() else { return nil }
    let ticket = URLCredential(user: "", password: "", persistence: .forSession)
    return Proposal(credential: ticket, isOutsideStorage: true, isTicket: true)
  }

  private func ask(
    about space: URLProtectionSpace, proposal: URLCredential?, refusals: Int
  ) async throws -> ChallengeAnswer {
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: proposal, previousFailureCount: refusals,
      failureResponse: response.response)
    return try await context.control.whileClientHoldsLoad {
      try await context.client.load(context, didReceive: challenge)
    }
  }
}
