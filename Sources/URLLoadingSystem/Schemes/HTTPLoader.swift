import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import SystemServices

/// Loads http and https: the end of the pipeline, where a request meets a connection.
///
/// 1. The body's length and source are settled, so that a missing upload file fails before anything is sent.
/// 2. A connection is leased, the head is written, the body follows while the response is already read.
/// 3. Interim responses go to the client; the final head is returned with a body that is pulled.
/// A request that met a connection which the server had just closed is sent again on another one when that is safe; one
/// that the server says it did not act upon, always.
struct HTTPLoader: SchemeLoader {
  func load(_ request: LoadRequest, in context: LoadContext) async throws -> LoadedResponse {
    guard let url = request.urlRequest.url else {
      throw ErrorMapping.make(.badURL, because: "The request has no URL.")
    }
    var target = try context.target(of: url)
    // A server reached over plain HTTP is not spoken to in HTTP/2; an upgrade takes a connection with it.
    if context.upgrade != nil, target.key.scheme == .http { target.key.allowsHTTP2 = false }
    return try await HTTPLoader.load(
      request, from: url, at: target, as: context.upgrade == nil ? .http : .webSocket, in: context)
  }

  /// Finds the way to `target` and makes attempts until one has a response.
  ///
  /// - Parameter directly: Makes an attempt where the server is spoken to in a protocol of its own, which is wherever no
  ///   proxy is asked for the resource. nil: it speaks HTTP.
  static func load(
    _ request: LoadRequest, from url: URL, at target: HTTPTarget, as purpose: HTTPRouting.Purpose,
    in context: LoadContext, directly: ((HTTPTarget) -> any LoadAttempt)? = nil
  ) async throws -> LoadedResponse {
    var target = target
    target.key.trafficClass = TrafficClass(request.urlRequest, context.configuration)
    target.key.forbiddenNetworks = context.configuration.forbiddenNetworks.union(
      NetworkTraits(forbiddenBy: request.urlRequest))
    target.key.requiresDNSSEC =
      context.configuration.requiresDNSSECValidation || request.urlRequest.requiresDNSSECValidation
    do {
      var request = request
      var routing = try await HTTPRouting.begin(&target, for: request.urlRequest, as: purpose, in: context)
      var body = try await RequestBodySource.open(request, in: context)
      var staleConnections = 0
      var resending = ResendRule()
      while true {
        let attempt: any LoadAttempt =
          if let directly, target.key.proxy?.use != .forward {
            directly(target)
          } else {
            HTTPAttempt(
              request: request.urlRequest, url: url, target: target, body: body, context: context,
              isRepetition: staleConnections > 0)
          }
        do {
          let loaded = try await attempt.run()
          if loaded.head?.status == 407, try await routing?.answer(loaded, &target, in: context) == true {
            // Once more, with a credential for the proxy.
          } else {
            guard loaded.head?.status == 417, request.urlRequest.headerFields.contains("Expect") else { return loaded }
            // RFC 9110 §15.5.18: somebody on the way does not know the expectation; the request is sent without it.
            loaded.body.discard()
            request.urlRequest.headerFields.remove("Expect")
          }
        } catch TransportError.closedBeforeResponse(wasReused: true) {
          staleConnections += 1
          // RFC 9110 §9.2.2: only what may be repeated without harm is repeated unasked.
          guard staleConnections <= HTTPLoader.maximumStaleConnections, attempt.isIdempotent else {
            throw TransportError.closedBeforeResponse(wasReused: true)
          }
          attempt.forget()
        } catch TransportError.notProcessed(let reason, let refusal) {
          // RFC 9113 §8.7: nothing happened, so nothing happens twice.
          switch resending.verdict(on: refusal, jitter: .random(in: 0...1)) {
          case .now: break
          case .after(let milliseconds): try await HTTPLoader.pause(.milliseconds(milliseconds), in: context)
          case .giveUp: throw TransportError.notProcessed(reason: reason)
          }
          attempt.forget()
        } catch TransportError.requiresHTTP1 where target.key.allowsHTTP2 {
          target.key.allowsHTTP2 = false
          attempt.forget()
        } catch TransportError.proxyFailed(let failure) where routing?.mayGoOn(after: failure) == true {
          try await routing?.goOn(after: failure, &target, in: context)
          // A proxy that asked for a credential has answered.
          if failure.isOutage { attempt.forget() }
        } catch let error as TransportError
          where context.configuration.waitsForConnectivity && ConnectivityWait.isNeeded(for: error)
        {
          // The fetch proper begins when there is a network.
          attempt.forget()
          try await ConnectivityWait.wait(after: error, in: context)
        }
        body = try await RequestBodySource.reopen(body, request, in: context)
      }
    } catch let error as TransportError {
      throw ErrorMapping.urlError(ConnectivityWait.cause(of: error), url: url)
    } catch { throw ErrorMapping.urlError(error, url: url) }
  }

  /// A pool may hold one stale connection per slot; beyond this something else is wrong.
  private static let maximumStaleConnections = 16

  private static func pause(_ delay: TimeAmount, in context: LoadContext) async throws {
    let over = context.loop.makePromise(of: Void.self)
    let timer = timer(in: context, delay) { over.succeed() }
    try await context.control.abortable(onAbort: { error in
      timer.cancel()
      over.fail(error)
    }) {
      try await over.futureResult.get()
    }
  }

  private static func timer(
    in context: LoadContext, _ delay: TimeAmount, _ action: @escaping () -> Void
  ) -> Scheduled<Void> {
    context.loop.assumeIsolated().scheduleTask(in: delay, action)
  }
}

/// One try at getting a response: by one way, over one connection.
protocol LoadAttempt: AnyObject {
  /// Whether it may be made again without harm, without anybody being asked.
  var isIdempotent: Bool { get }
  func run() async throws -> LoadedResponse
  /// What is done again unasked, as if it had never been tried, is no transaction.
  func forget()
}

extension ResendRule {
  fileprivate mutating func verdict(on refusal: TransportError.Refusal, jitter: Double) -> Verdict {
    switch refusal {
    case .unwilling: refused(jitter: jitter)
    case .leaving(let hasServed): departed(hasServed: hasServed, jitter: jitter)
    }
  }
}
