import Foundation
import HTTPTransport

/// Loads http and https: the end of the pipeline, where a request meets a connection.
///
/// 1. The route is found: directly, or through a proxy.
/// 2. The body's length and source are settled, so that a missing upload file fails before anything is sent.
/// 3. An attempt is made: `HTTPAttempt`. What becomes of one that fails is decided by the stages `Retry` and
///    `ProxyAuthentication`.
enum HTTPLoader {
  static func begin(_ run: PipelineRun) -> LoadStep {
    if let hop = run.network { return attempt(hop, run) }
    guard let url = run.request.urlRequest.url else {
      return .fail(ErrorMapping.make(.badURL, because: "The request has no URL."))
    }
    do {
      var target = try run.httpTarget ?? HTTPTarget(url)
      let changesProtocol = run.context.upgrade != nil
      // A server reached over plain HTTP is not spoken to in HTTP/2; an upgrade takes a connection with it.
      if changesProtocol, target.key.scheme == .http { target.key.allowsHTTP2 = false }
      let hop = NetworkHop(to: target, as: changesProtocol ? .webSocket : .http, for: run)
      run.network = hop
      return attempt(hop, run)
    } catch { return .fail(error) }
  }

  /// Settles what is not settled yet, and begins an attempt.
  static func attempt(_ hop: NetworkHop, _ run: PipelineRun) -> LoadStep {
    let context = run.context
    if !hop.isRouted {
      guard HTTPRouting.isDirect(hop.target, as: hop.purpose, in: context) else {
        return .wait {
          hop.routing = try await HTTPRouting.begin(
            &hop.target, for: run.request.urlRequest, as: hop.purpose, in: context)
          hop.isRouted = true
          return attempt(hop, run)
        }
      }
      hop.isRouted = true
    }
    if hop.body?.isUnread != true {
      guard let body = RequestBodySource.immediate(run.request, on: context.loop) else {
        return .wait {
          hop.body = try await RequestBodySource.open(run.request, after: hop.body, in: context)
          return begin(hop, run)
        }
      }
      hop.body = body
    }
    return begin(hop, run)
  }

  /// - Parameter bodyHash: What a proxy's proof depends on, once it is known.
  private static func begin(_ hop: NetworkHop, _ run: PipelineRun, bodyHash: String? = nil) -> LoadStep {
    guard let url = run.request.urlRequest.url, let body = hop.body else {
      return .fail(ErrorMapping.make(.badURL, because: "The request has no URL."))
    }
    if let direct = hop.direct, hop.target.key.proxy?.use != .forward {
      let attempt = direct(hop.target.key)
      hop.attempt = attempt
      return .wait { .answer(try await attempt.run()) }
    }
    hop.proxyAuthorization = nil
    if let proof = hop.routing?.authentication.attempt?.proof, hop.target.key.proxy?.use == .forward {
      guard bodyHash != nil || proof.isReady(for: run) else {
        return .wait { begin(hop, run, bodyHash: try await proof.getReady(for: run)) }
      }
      let request = ProvenRequest(run, hop.target, bodyHash: bodyHash)
      do { hop.proxyAuthorization = try proof.fieldValue(for: request) } catch {
        return .fail(error)
      }
    }
    let attempt = HTTPAttempt(run, url: url, target: hop.target, body: body, isRepetition: hop.staleConnections > 0)
    hop.attempt = attempt
    return attempt.begin()
  }
}
