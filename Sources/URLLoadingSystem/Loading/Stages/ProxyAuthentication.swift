import HTTPTransport

/// Answers a proxy that asks for a credential: 407 (RFC 9110 §15.5.8) from one that is asked for the resource, or to the
/// CONNECT, or the negotiation of SOCKS, of one that is asked for a tunnel.
struct ProxyAuthentication: LoadStage {
  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    guard response.head?.status == 407, let hop = run.network, hop.routing != nil else { return .proceed }
    return .wait {
      guard var routing = hop.routing else { return .proceed }
      let goesOn = try await routing.answer(response, &hop.target, in: run.context)
      hop.routing = routing
      return goesOn ? .again : .proceed
    }
  }

  func didFail(_ error: any Error, _ run: PipelineRun) -> LoadStep {
    guard case TransportError.proxyFailed(let failure) = error, case .authenticationRequired = failure.cause,
      let hop = run.network, hop.routing?.mayGoOn(after: failure) == true
    else { return .proceed }
    return .wait {
      guard var routing = hop.routing else { return .proceed }
      try await routing.goOn(after: failure, &hop.target, in: run.context)
      hop.routing = routing
      return .again
    }
  }
}
