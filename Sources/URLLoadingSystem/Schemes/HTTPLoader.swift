import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// Loads http and https: the end of the pipeline, where a request meets a connection.
///
/// 1. The body's length and source are settled, so that a missing upload file fails before anything is sent.
/// 2. A connection is leased, the head is written, the body follows while the response is already read.
/// 3. Interim responses go to the client; the final head is returned with a body that is pulled.
/// A request that met a connection which the server had just closed is sent again on another one when that is safe.
struct HTTPLoader: SchemeLoader {
  func load(_ request: LoadRequest, in context: LoadContext) async throws -> LoadedResponse {
    guard let url = request.urlRequest.url else {
      throw ErrorMapping.make(.badURL, because: "The request has no URL.")
    }
    let target = try HTTPTarget(url)
    do {
      var body = try await RequestBodySource.open(request, in: context)
      var attempts = 0
      while true {
        let attempt = HTTPAttempt(request: request.urlRequest, url: url, target: target, body: body, context: context)
        do { return try await attempt.run() } catch TransportError.closedBeforeResponse(wasReused: true) {
          attempts += 1
          // RFC 9110 §9.2.2: only what may be repeated without harm is repeated unasked.
          guard attempts <= HTTPLoader.maximumStaleConnections, attempt.isIdempotent else {
            throw TransportError.closedBeforeResponse(wasReused: true)
          }
          body = try await RequestBodySource.reopen(body, request, in: context)
        }
      }
    } catch { throw ErrorMapping.urlError(error, url: url) }
  }

  /// A pool may hold one stale connection per slot; beyond this something else is wrong.
  private static let maximumStaleConnections = 16
}
