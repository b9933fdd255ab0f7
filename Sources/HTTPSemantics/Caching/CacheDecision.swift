/// The way in which a request is answered, decided before anything is sent (RFC 9111 §4).
///
/// An index names one of the stored responses that the decision was made from.
package enum CacheDecision: Sendable, Equatable {
  /// The stored response, or a part of it.
  case use(Int, StoredAnswer)
  /// The same, while the origin is asked in the background (RFC 5861 §3).
  case useWhileRevalidating(Int, StoredAnswer, HTTPFields)
  /// The origin is asked with these fields besides the request's own. 304 means that the stored response is good.
  case validate(Int, HTTPFields)
  /// The beginning is stored; the origin is asked for the rest with these fields (RFC 9111 §3.4).
  case complete(Int, HTTPFields)
  /// The origin is asked as if nothing were stored.
  case fetch
  /// Nothing is stored that may be used, and the network may not be asked.
  case fail
  /// RFC 9111 §5.2.1.7: the same, by only-if-cached: 504.
  case gatewayTimeout

  /// - Parameters:
  ///   - stored: The responses that are stored for the request's URL.
  ///   - now: Seconds since 1970.
  package static func decide(_ request: CacheRequest, stored: [StoredHead], now: Int64) -> CacheDecision {
    guard request.isAnswerable else { return miss(request) }
    switch request.usage {
    case .reload, .reloadEverywhere: return .fetch
    case .protocolRules, .preferStored, .onlyStored, .revalidate: break
    }
    // RFC 9111 §4.3.2: a cache does not evaluate these conditions.
    guard !request.hasOriginCondition else { return miss(request) }
    guard let best = select(request, stored) else { return miss(request) }
    let candidate = CacheCandidate(stored[best], request, now: now)
    if request.usage == .preferStored || request.usage == .onlyStored {
      // Staleness is accepted, and another user's response is not. One to a request without credentials holds no secret.
      if candidate.isOfOtherCredential, candidate.stored.credentialMark != nil { return miss(request) }
      return candidate.answer.map { .use(best, $0) } ?? miss(request)
    }
    return decide(candidate, best, request)
  }

  private static func decide(_ candidate: CacheCandidate, _ index: Int, _ request: CacheRequest) -> CacheDecision {
    let answer = candidate.answer
    switch candidate.usability {
    case .usable:
      if let answer { return .use(index, answer) }
    case .usableWhileRevalidating:
      // Without a validator it is fetched anew.
      if let answer { return .useWhileRevalidating(index, answer, Validation.fields(for: candidate.stored) ?? [:]) }
    case .needsValidation: break
    }
    if request.control.onlyIfCached { return .gatewayTimeout }
    // RFC 9111 §4.3.1: an app's own condition goes out as it is. A range is asked for anew, and so is a HEAD.
    guard request.method == "GET", !request.hasCondition, !request.fields.contains("Range") else { return .fetch }
    if let part = candidate.stored.part {
      guard part.first == 0, candidate.usability == .usable, let tag = Validation.strongTag(of: candidate.stored) else {
        return .fetch
      }
      return .complete(index, ["Range": "bytes=\(part.last + 1)-", "If-Range": tag])
    }
    guard var fields = Validation.fields(for: candidate.stored) else { return .fetch }
    if candidate.isOfOtherCredential {
      // A date does not tell one user's representation from another's.
      fields.remove("If-Modified-Since")
      guard fields.contains("If-None-Match") else { return .fetch }
    }
    // RFC 9111 §5.2.1.1: caches on the way are to ask too.
    if request.usage == .revalidate, !request.fields.contains("Cache-Control") {
      fields.append("Cache-Control", "max-age=0")
    }
    return .validate(index, fields)
  }

  private static func miss(_ request: CacheRequest) -> CacheDecision {
    if request.usage == .onlyStored { return .fail }
    return request.control.onlyIfCached && request.usage != .preferStored ? .gatewayTimeout : .fetch
  }

  /// RFC 9111 §4.1: of several responses that match, the most recent; of equally recent ones a complete one.
  static func select(_ request: CacheRequest, _ stored: [StoredHead]) -> Int? {
    var best: Int?
    for (index, entry) in stored.enumerated() where entry.selecting.match(request.fields) {
      guard let previous = best.map({ stored[$0] }) else {
        best = index
        continue
      }
      let isBetter =
        (entry.part == nil) == (previous.part == nil)
        ? entry.responseTime >= previous.responseTime : entry.part == nil
      if isBetter { best = index }
    }
    return best
  }
}
