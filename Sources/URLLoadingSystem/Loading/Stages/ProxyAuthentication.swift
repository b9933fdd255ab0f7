import HTTPSemantics
import HTTPTransport

/// Answers a proxy that asks for a credential: 407 (RFC 9110 §15.5.8) from one that is asked for the resource, or to the
/// CONNECT, or the negotiation of SOCKS, of one that is asked for a tunnel.
struct ProxyAuthentication: LoadStage {
  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    guard let hop = run.network, hop.routing != nil, let head = response.head else { return .proceed }
    guard head.status == 407, hop.target.key.proxy?.use == .forward else { return letThrough(response, head, hop, run) }
    return .wait { try await answer(response, hop, run) }
  }

  private func answer(_ response: LoadedResponse, _ hop: NetworkHop, _ run: PipelineRun) async throws -> LoadStep {
    guard var routing = hop.routing, let challenges = routing.challenges(of: response, to: hop.target, in: run.context)
    else { return .proceed }
    defer { hop.routing = routing }
    do {
      if await !challenges.continueConversation(&routing.authentication) {
        hop.giveUpReservation(isOfProxy: true)
        guard try await challenges.chooseCredential(&routing.authentication) else { return .proceed }
      }
      try routing.goOn(&hop.target)
    } catch {
      response.body.discard()
      throw error
    }
    hop.routing = routing
    await hop.reserveConnection(for: routing.authentication.attempt?.proof, isOfProxy: true)
    await response.body.drain()
    return .again
  }

  private func letThrough(
    _ response: LoadedResponse, _ head: HTTPResponseHead, _ hop: NetworkHop, _ run: PipelineRun
  ) -> LoadStep {
    guard let proof = hop.routing?.authentication.attempt?.proof else { return .proceed }
    if hop.target.key.proxy?.use == .forward {
      // A proxy that is in trouble has said nothing of the credential.
      // A connection that is to speak for a user to the server too is kept until the server has answered.
      let endsReservation = proof.identity != .none && run.carried?.isOfConnection != true
      guard head.status < 500 else {
        if endsReservation { hop.giveUpReservation(isOfProxy: true) }
        return .proceed
      }
      if endsReservation { hop.endReservation() }
      do {
        if let bodyProof = try proof.accepted(head.fields),
          let step = try AuthenticationInfo.step(bodyProof, response, head, run)
        {
          // The proxy is used in any case until a body turns out to be wrong; Digest tells it no password.
          hop.routing?.letThrough(hop.target, in: run.context)
          return step
        }
      } catch {
        response.body.discard()
        return .fail(error)
      }
    }
    hop.routing?.letThrough(hop.target, in: run.context)
    return .proceed
  }

  func didFail(_ error: any Error, _ run: PipelineRun) -> LoadStep {
    guard case TransportError.proxyFailed(let failure) = error, case .authenticationRequired = failure.cause,
      let hop = run.network, hop.routing?.mayGoOn(after: failure) == true
    else { return .proceed }
    return .wait {
      guard var routing = hop.routing else { return .proceed }
      defer { hop.routing = routing }
      try await routing.goOn(after: failure, &hop.target, in: run.context)
      return .again
    }
  }
}
