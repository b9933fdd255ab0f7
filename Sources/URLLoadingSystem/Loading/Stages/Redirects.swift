import Foundation
import HTTPSemantics

/// Follows redirects (RFC 9110 §15.4): the client decides on each, `RedirectRules` says what the next request is.
///
/// A client that refuses gets the 3xx response as the result. The redirect's own body is read to its end when it is
/// short, so that the connection can serve the next request, and dropped otherwise.
///
/// The client is asked about targets of other schemes, too, and may name another target. Only http and https are ever
/// loaded, the Unix-domain socket that answered, and what a custom protocol accepts: a server does not get to see the app's
/// files.
struct Redirects: LoadStage {
  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    guard let head = response.head, (300..<400).contains(head.status), let url = run.request.urlRequest.url,
      let answer = response.response as? HTTPURLResponse
    else { return .proceed }
    let request = run.request
    let decision = RedirectRules.decide(
      status: head.status, method: request.urlRequest.httpMethod ?? "GET", hasBody: request.hasBody,
      url: url.absoluteString, locations: locations(of: head, in: run.context), redirectCount: run.redirectCount)
    switch decision {
    case .notARedirect: return .proceed
    case .tooMany:
      return fail(
        response, .httpTooManyRedirects, "There were more than \(RedirectRules.limit) redirects.", url)
    case .missingLocation:
      return fail(
        response, .redirectToNonExistentLocation, "The server redirects without saying where to.", url)
    case .unsupportedTarget(let redirect), .follow(let redirect):
      guard let proposal = apply(redirect, to: request) else {
        return fail(
          response, .badURL, "The server redirects to \(redirect.target), which is not a valid URL.", url)
      }
      return .wait { try await follow(proposal, decision, from: answer, response, run) }
    }
  }

  /// Asks the client, and follows as it says.
  private func follow(
    _ proposal: LoadRequest, _ decision: RedirectDecision, from redirect: HTTPURLResponse, _ response: LoadedResponse,
    _ run: PipelineRun
  ) async throws -> LoadStep {
    let context = run.context
    let answer = try await context.control.whileClientHoldsLoad {
      try await context.client.load(context, willFollow: proposal.urlRequest, from: redirect)
    }
    guard let answer else { return .proceed }
    let next = LoadRequest(
      answer, body: keepsBody(answer, of: proposal) ? proposal.body : .none, bodyRange: proposal.bodyRange)
    var isLoaded = mayLoad(answer.url, proposed: proposal.urlRequest.url, decision)
    if !isLoaded { isLoaded = try await CustomProtocols.choose(for: next, in: context) }
    guard isLoaded else {
      let target = answer.url.map { Redirects.text(of: $0) } ?? "nowhere"
      return fail(
        response, .unsupportedURL, "The server redirects to \(target), \(HTTPOrigin.fault(of: target)).", redirect.url)
    }
    await response.body.drain()
    run.follow(next)
    context.client.load(context, isUsing: answer)
    return .again
  }

  /// A redirect that the rules do not follow is not loaded unless the client has named another target.
  private func mayLoad(_ url: URL?, proposed: URL?, _ decision: RedirectDecision) -> Bool {
    guard let url else { return false }
    if case .unsupportedTarget = decision { return url.isHTTP && url != proposed }
    // Of other URLs only that of the socket that answered.
    return url.isHTTP || url == proposed
  }

  /// Whether the task's own body, which the client can't see in the proposal, goes along with the client's answer: not
  /// when that has a body of its own, and not when the client made it a request that has none.
  private func keepsBody(_ answer: URLRequest, of proposal: LoadRequest) -> Bool {
    guard answer.httpBody == nil, answer.httpBodyStream == nil else { return false }
    let method = answer.httpMethod ?? "GET"
    return method == proposal.urlRequest.httpMethod ?? "GET" || !["GET", "HEAD"].contains(method)
  }

  /// A WebSocket may be sent on to a ws or wss URL, which is http or https to the pipeline.
  private func locations(of head: HTTPResponseHead, in context: LoadContext) -> [String] {
    let values = head.fields.values("Location")
    return context.upgrade == nil ? values : values.map { WebSocketURL.httpText($0) }
  }

  /// Without user name and password, which must not get into logs.
  private static func text(of url: URL) -> String {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return "another URL" }
    (parts.user, parts.password) = (nil, nil)
    return parts.string ?? "another URL"
  }

  private func apply(_ redirect: Redirect, to request: LoadRequest) -> LoadRequest? {
    guard let target = URL(string: redirect.target) else { return nil }
    var next = request
    next.urlRequest.url = target
    next.urlRequest.httpMethod = redirect.method
    for name in redirect.removedFields { next.urlRequest.headerFields.remove(name) }
    if !redirect.keepsBody {
      next.body = .none
      next.urlRequest.httpBody = nil
      next.urlRequest.httpBodyStream = nil
    } else if request.streamIsSpent {
      // The stream was read by the first request; the loader asks the client for a new one.
      next.body = .streamFromClient
      next.urlRequest.httpBodyStream = nil
    }
    if case .none = next.body {
    } else {
      // The task's own body wins over the request's, on every hop.
      next.urlRequest.httpBody = nil
      next.urlRequest.httpBodyStream = nil
    }
    return next
  }

  private func fail(
    _ response: LoadedResponse, _ code: URLError.Code, _ sentence: String, _ url: URL?
  ) -> LoadStep {
    response.body.discard()
    return .fail(ErrorMapping.urlError(ErrorMapping.make(code, because: sentence), url: url))
  }
}
