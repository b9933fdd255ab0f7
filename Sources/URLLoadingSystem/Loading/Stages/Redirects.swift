import Foundation
import HTTPSemantics

/// Follows redirects (RFC 9110 §15.4): the client decides on each, `RedirectRules` says what the next request is.
///
/// A client that refuses gets the 3xx response as the result. The redirect's own body is read to its end when it is
/// short, so that the connection can serve the next request, and dropped otherwise.
///
/// The client is asked about targets of other schemes, too, and may name another target. Only http and https are ever
/// loaded: a server does not get to see the app's files.
struct Redirects: LoadStage {
  func load(_ request: LoadRequest, in context: LoadContext, next: LoadPipeline.Next) async throws -> LoadedResponse {
    var request = request
    var count = 0
    while true {
      let loaded = try await next(request, context)
      guard let head = loaded.head, (300..<400).contains(head.status), let url = request.urlRequest.url,
        let response = loaded.response as? HTTPURLResponse
      else { return loaded }
      let decision = RedirectRules.decide(
        status: head.status, method: request.urlRequest.httpMethod ?? "GET", hasBody: request.hasBody,
        url: url.absoluteString, locations: locations(of: head, in: context), redirectCount: count)
      switch decision {
      case .notARedirect: return loaded
      case .tooMany:
        loaded.body.discard()
        throw failure(.httpTooManyRedirects, "There were more than \(RedirectRules.limit) redirects.", url)
      case .missingLocation:
        loaded.body.discard()
        throw failure(.redirectToNonExistentLocation, "The server redirects without saying where to.", url)
      case .unsupportedTarget(let redirect), .follow(let redirect):
        guard let proposal = apply(redirect, to: request) else {
          loaded.body.discard()
          throw failure(.badURL, "The server redirects to \(redirect.target), which is not a valid URL.", url)
        }
        let answer = try await context.control.whileClientHoldsLoad {
          try await context.client.load(context, willFollow: proposal.urlRequest, from: response)
        }
        guard let answer else { return loaded }
        guard mayLoad(answer.url, proposed: proposal.urlRequest.url, decision) else {
          loaded.body.discard()
          let target = answer.url.map { Redirects.text(of: $0) } ?? "nowhere"
          throw failure(.unsupportedURL, "The server redirects to \(target), which is no http or https URL.", url)
        }
        try await release(loaded.body)
        count += 1
        request = LoadRequest(
          answer, body: keepsBody(answer, of: proposal) ? proposal.body : .none, bodyRange: proposal.bodyRange)
        context.client.load(context, isUsing: answer)
      }
    }
  }

  /// What the rules do not follow is not loaded unless the client has named another target.
  private func mayLoad(_ url: URL?, proposed: URL?, _ decision: RedirectDecision) -> Bool {
    guard let url, url.isHTTP else { return false }
    if case .unsupportedTarget = decision { return url != proposed }
    return true
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

  /// Without what nobody should read in a log.
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

  /// Reads a short rest so that the connection is free for the next request.
  private func release(_ body: any LoadBody) async throws {
    var budget = 64 * 1024
    while budget > 0 {
      guard let bytes = try? await body.next() else { return body.discard() }
      budget -= bytes.readableBytes
    }
    body.discard()
  }

  private func failure(_ code: URLError.Code, _ sentence: String, _ url: URL) -> URLError {
    ErrorMapping.urlError(ErrorMapping.make(code, because: sentence), url: url)
  }
}

extension LoadRequest {
  var hasBody: Bool {
    switch body {
    case .none: urlRequest.httpBody != nil || urlRequest.httpBodyStream != nil
    case .data, .file, .stream, .streamFromClient: true
    }
  }

  /// A stream can be read once.
  fileprivate var streamIsSpent: Bool {
    switch body {
    case .stream: true
    case .none: urlRequest.httpBodyStream != nil
    case .data, .file, .streamFromClient: false
    }
  }
}
