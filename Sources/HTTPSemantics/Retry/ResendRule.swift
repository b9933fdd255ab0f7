/// Decides when one request is sent again that the server says it did not act upon, and when to give up.
///
/// The first repetition is sent at once, later ones after growing pauses. Pauses are jittered, so that requests that were
/// refused together do not come back together.
package struct ResendRule: Sendable {
  package enum Verdict: Sendable, Equatable {
    case now
    case after(milliseconds: Int64)
    case giveUp
  }

  package static let maximumRefusals = 6
  /// A server that ends each connection after a few requests may refuse the same request many times.
  package static let maximumDepartures = 64
  /// After so many connections that ended without an answer the pauses begin.
  package static let departuresWithoutPause = 2

  private var refusals = 0
  private var departures = 0
  private var fruitlessDepartures = 0

  package init() {}

  /// The server refused the request for now.
  /// - Parameter jitter: a random number from 0 to 1, drawn by the caller.
  package mutating func refused(jitter: Double) -> Verdict {
    refusals += 1
    guard refusals <= ResendRule.maximumRefusals else { return .giveUp }
    return refusals == 1 ? .now : ResendRule.pause(25 << refusals, jitter)
  }

  /// The server ended the connection that the request was on.
  /// - Parameters:
  ///   - hasServed: whether it had answered another request on it: then a new connection is likely to serve this one.
  ///   - jitter: a random number from 0 to 1, drawn by the caller.
  package mutating func departed(hasServed: Bool, jitter: Double) -> Verdict {
    departures += 1
    guard departures <= ResendRule.maximumDepartures else { return .giveUp }
    guard !hasServed else { return .now }
    fruitlessDepartures += 1
    guard fruitlessDepartures > ResendRule.departuresWithoutPause else { return .now }
    return ResendRule.pause(25 << min(fruitlessDepartures, 4), jitter)
  }

  /// A moment in the upper half of a window.
  private static func pause(_ window: Int, _ jitter: Double) -> Verdict {
    let unit = jitter.isFinite ? min(max(jitter, 0), 1) : 1
    return .after(milliseconds: Int64(Double(window) / 2 * (1 + unit)))
  }
}
