import Foundation
import HTTPSemantics
import HTTPTransport

/// Sends a request again that brought nothing, where that does no harm.
///
/// A request that met a connection which the server had just closed is repeated when it is idempotent
/// (RFC 9110 §9.2.2), and so is one, once, whose server never began to speak HTTP/2 or HTTP/3; one that the server says it did not act upon, always (RFC 9113 §8.7). Some statuses ask for a
/// repetition; each is answered with one repetition a hop, and a second such response is the result.
struct Retry: LoadStage {
  /// A pool may hold one stale connection per slot; beyond this something else is wrong.
  private static let maximumStaleConnections = 16

  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    guard let hop = run.network, let head = response.head, head.status >= 400,
      let repetition = repetition(after: head, run, hop)
    else { return .proceed }
    if repetition != .onItsOwnConnection { hop.repeatedStatuses.insert(head.status) }
    switch repetition {
    case .same: break
    case .withoutExpectation: run.fields.remove("Expect")
    case .withoutEarlyData: hop.avoidsEarlyData = true
    case .onItsOwnConnection: run.context.transport.coalescing.refused(hop.target.key)
    case .onAnotherConnection: hop.target.key.isolation = Retry.nextIsolation()
    }
    return .wait {
      await response.body.drain()
      return .again
    }
  }

  /// How a request is repeated.
  private enum Repetition {
    case same, withoutExpectation, withoutEarlyData, onItsOwnConnection, onAnotherConnection
  }

  /// The repetition that a response asks for and that does no harm; nil for none. Changes nothing.
  private func repetition(after head: HTTPResponseHead, _ run: PipelineRun, _ hop: NetworkHop) -> Repetition? {
    guard !hop.repeatedStatuses.contains(head.status), run.context.upgrade == nil else { return nil }
    let isIdempotent = hop.attempt?.isIdempotent == true
    switch head.status {
    case 408:
      // RFC 9110 §15.5.9: the server did not get the request in time, and closes the connection.
      return isIdempotent && waitsNotAtAll(head, elseIfAbsent: true) ? .same : nil
    case 417:
      // RFC 9110 §15.5.18: a server on the way does not know the expectation; the request is sent without it.
      return run.fields.contains("Expect") ? .withoutExpectation : nil
    case 421:
      // RFC 9110 §15.5.20: the request was sent to a server that does not answer for this origin; another connection may
      // lead to one that does. The origin gets none of other origins any more.
      return (hop.attempt as? HTTPAttempt)?.isCoalesced == true ? .onItsOwnConnection : .onAnotherConnection
    case 425:
      // RFC 8470 §5.2: the server, or one on the way, does not act upon a request that might be a copy.
      return .withoutEarlyData
    case 503:
      // RFC 9110 §10.2.3: only a server that says that it is ready again at once is asked at once.
      return isIdempotent && waitsNotAtAll(head, elseIfAbsent: false) ? .same : nil
    default: return nil
    }
  }

  private func waitsNotAtAll(_ head: HTTPResponseHead, elseIfAbsent absent: Bool) -> Bool {
    guard let value = head.fields["Retry-After"] else { return absent }
    return RetryAfter.seconds(value, now: Int64(Date().timeIntervalSince1970)) == 0
  }

  /// A number that no other connection has.
  private static func nextIsolation() -> UInt64 { .random(in: 1 ... .max) }

  func didFail(_ error: any Error, _ run: PipelineRun) -> LoadStep {
    guard let hop = run.network, let error = error as? TransportError else { return .proceed }
    switch error {
    case .closedBeforeResponse(wasReused: true):
      hop.staleConnections += 1
      guard hop.staleConnections <= Retry.maximumStaleConnections, hop.attempt?.isIdempotent == true else {
        return .proceed
      }
      return again(hop)
    case .noSettings:
      guard !hop.hasMissedSettings, hop.attempt?.isIdempotent == true else { return .proceed }
      hop.hasMissedSettings = true
      return again(hop)
    case .notProcessed(let reason, let refusal):
      switch hop.resending.verdict(on: refusal, jitter: .random(in: 0...1)) {
      case .now: return again(hop)
      case .after(let milliseconds):
        return .wait {
          try await run.context.control.sleep(Double(milliseconds) / 1000)
          return again(hop)
        }
      case .giveUp: return .fail(TransportError.notProcessed(reason: reason))
      }
    case .requiresHTTP1 where hop.target.key.allowsHTTP2:
      hop.target.key.allowsHTTP2 = false
      return again(hop)
    case .proxyFailed(let failure) where failure.isOutage && hop.routing?.mayGoOn(after: failure) == true:
      return .wait {
        guard var routing = hop.routing else { return .proceed }
        try await routing.goOn(after: failure, &hop.target, in: run.context)
        hop.routing = routing
        return again(hop)
      }
    default:
      guard run.context.configuration.waitsForConnectivity, ConnectivityWait.isNeeded(for: error) else {
        return .proceed
      }
      // The fetch proper begins when there is a network.
      hop.forgetAttempt()
      return .wait {
        try await ConnectivityWait.wait(after: error, in: run.context)
        return .again
      }
    }
  }

  private func again(_ hop: NetworkHop) -> LoadStep {
    hop.forgetAttempt()
    return .again
  }
}

extension ResendRule {
  fileprivate mutating func verdict(on refusal: TransportError.Refusal, jitter: Double) -> Verdict {
    switch refusal {
    case .unwilling: refused(jitter: jitter)
    case .leaving(let hasServed): departed(hasServed: hasServed, jitter: jitter)
    }
  }
}
