import Foundation
import HTTPSemantics
import HTTPTransport

/// Answers a server that asks for a credential: 401 (RFC 9110 §15.5.2).
///
/// A request carries the credential of a space that the session was let into before. Otherwise the server is asked first,
/// and its challenges go to the app, the strongest scheme first; without an answer of the app the credential in the URL
/// counts, then the storage's default credential, and else the 401 is the result. It stands outside the stage of the
/// request's fields, so that a request that is sent again gets them anew.
struct Authentication: LoadStage {
  func willSend(_ run: PipelineRun) -> LoadStep {
    guard run.authentication != nil || run.context.configuration.authentication?.isEmpty == false,
      let target = run.httpTarget
    else { return .proceed }
    if run.authentication == nil {
      guard let attempt = remembered(target, run) else { return .proceed }
      run.authentication = RequestAuthentication(attempt: attempt)
    }
    guard let proof = run.carried?.proof else { return .proceed }
    guard proof.isReady(for: run) else {
      return .wait { prove(proof, target, run, bodyHash: try await proof.getReady(for: run)) }
    }
    return prove(proof, target, run)
  }

  private func prove(
    _ proof: any AuthenticationProof, _ target: HTTPTarget, _ run: PipelineRun, bodyHash: String? = nil
  ) -> LoadStep {
    // Which method asks for another protocol is known with the connection.
    guard run.context.upgrade == nil else { return .proceed }
    do {
      if let value = try proof.fieldValue(for: ProvenRequest(run, target, bodyHash: bodyHash)) {
        // One copy, with the room that `RequestFields` wants.
        run.fields.fields.reserveCapacity(run.fields.fields.count + 9)
        run.fields["Authorization"] = value
      }
      return .proceed
    } catch { return .fail(error) }
  }

  /// A request that says by itself who asks is left as it is.
  private func remembered(_ target: HTTPTarget, _ run: PipelineRun) -> RequestAuthentication.Attempt? {
    guard let memory = run.context.configuration.authentication, !memory.isEmpty, !run.fields.contains("Authorization"),
      let entry = memory.entry(for: target.requestTarget, at: AuthenticationPeer(target))
    else { return nil }
    if target.namesUser, !entry.credential.isUser(in: run.request.urlRequest.url) { return nil }
    return RequestAuthentication.Attempt(entry)
  }

  /// Whether the session has come to know a credential for a request since its fields were settled. Not one that speaks for
  /// connections: the request waited for a connection of another kind.
  static func mayProveNow(_ run: PipelineRun) -> Bool {
    guard run.authentication == nil, run.context.upgrade == nil, let target = run.httpTarget,
      let attempt = Authentication().remembered(target, run)
    else { return false }
    return !attempt.isOfConnection
  }

  /// Whether a conversation of a request begins anew, since its connection is gone: with the server, or with a proxy that
  /// forwards.
  static func restarts(_ run: PipelineRun) -> Bool {
    let isWithServer = run.carried?.proof.restart() ?? false
    let isWithProxy = run.network?.routing?.authentication.attempt?.proof.restart() ?? false
    return isWithServer || isWithProxy
  }

  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    guard let status = response.head?.status else { return .proceed }
    if status != 401, run.carried?.isSettled ?? true { return .proceed }
    guard let target = run.httpTarget, let head = response.head else { return .proceed }
    guard head.status == 401 else { return letIn(response, head, target, run) }
    let challenges = AuthenticationChallenge.all(in: head.fields, "WWW-Authenticate")
    guard !challenges.isEmpty else { return .proceed }
    let isForwarded = run.network?.target.key.proxy?.use == .forward
    let offers =
      isForwarded
      ? AuthenticationChoice.offers(in: challenges, throughProxy: head.fields)
      : AuthenticationChoice.offers(in: challenges)
    return .wait { try await answer(offers, response, target, run) }
  }

  private func answer(
    _ offers: [AuthenticationOffer], _ response: LoadedResponse, _ target: HTTPTarget, _ run: PipelineRun
  ) async throws -> LoadStep {
    var state = run.authentication ?? RequestAuthentication()
    defer { run.authentication = state }
    let asked = ResponseChallenges(
      offers, response.response,
      from: ChallengingPeer(
        target, for: run.request.urlRequest.url, ledFrom: run.redirectCount == 0 ? nil : run.firstURL,
        over: (run.network?.attempt as? HTTPAttempt)?.serverCertificate),
      in: run.context)
    let identity = state.attempt?.proof.identity ?? .none
    if await !asked.continueConversation(&state) {
      // The connection may speak for a user of the proxy.
      if identity != .none { run.network?.giveUpReservation() }
      do {
        guard try await asked.chooseCredential(&state) else { return .proceed }
      } catch {
        response.body.discard()
        throw ErrorMapping.urlError(error, url: run.request.urlRequest.url)
      }
    }
    await run.network?.reserveConnection(for: state.attempt?.proof)
    state.attempt?.needsHTTP1 = run.network?.forgoesHTTP2 ?? false
    await response.body.drain()
    return .again
  }

  private func letIn(
    _ response: LoadedResponse, _ head: HTTPResponseHead, _ target: HTTPTarget, _ run: PipelineRun
  ) -> LoadStep {
    guard let carried = run.carried else { return .proceed }
    let identity = carried.proof.identity
    guard head.speaksOfCredential else {
      if identity != .none { run.network?.giveUpReservation() }
      return .proceed
    }
    if identity != .none { run.network?.endReservation() }
    guard !carried.isRemembered else { return .proceed }
    guard let bodyProof = response.bodyProof else {
      run.authentication?.keep(at: AuthenticationPeer(target), in: run.context)
      return .proceed
    }
    // A credential is kept only after the server has shown that it knows it.
    let (authentication, context) = (run.authentication, run.context)
    bodyProof.whenProven {
      var authentication = authentication
      authentication?.keep(at: AuthenticationPeer(target), in: context)
    }
    return .proceed
  }
}

extension HTTPRequestHead {
  /// Adds the credential to a request that asks for another protocol: its method is GET, or CONNECT in a stream of HTTP/2
  /// (RFC 8441 §4).
  mutating func prove(as run: PipelineRun) throws {
    guard let proof = run.carried?.proof else { return }
    let request = ProvenRequest(method: method, target: target, body: Data())
    if let value = try proof.fieldValue(for: request) { fields["Authorization"] = value }
  }
}
