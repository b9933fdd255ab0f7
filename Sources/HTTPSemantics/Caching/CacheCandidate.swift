/// A stored response that was selected for a request, and the question whether it may answer (RFC 9111 §4).
struct CacheCandidate {
  enum Usability: Equatable { case usable, usableWhileRevalidating, needsValidation }

  let stored: StoredHead
  let usability: Usability
  /// Whether it was an answer to another user, and not meant for all.
  let isOfOtherCredential: Bool
  /// The answer that the stored response would give; nil where it can give none.
  let answer: StoredAnswer?

  init(_ stored: StoredHead, _ request: CacheRequest, now: Int64) {
    self.stored = stored
    let control = CacheControl(stored.head.fields)
    isOfOtherCredential =
      stored.credentialMark != request.credentialMark && !CacheCandidate.isForAnyCredential(control)
    usability = CacheCandidate.usability(stored, control, request, now: now)
    answer = StoredAnswer(stored, request)
  }

  private static func usability(
    _ stored: StoredHead, _ control: CacheControl, _ request: CacheRequest, now: Int64
  ) -> Usability {
    // RFC 9111 §5.2.2.4 and §5.2.1.4.
    guard !control.noCache, !request.control.noCache else { return .needsValidation }
    // An answer to one user is not given to another of the same app without the origin's word. Responses that even a
    // shared cache may reuse are exempt (RFC 9111 §3.5).
    if stored.credentialMark != request.credentialMark, !isForAnyCredential(control) {
      return .needsValidation
    }
    let freshness = Freshness(stored, control, now: now)
    if request.usage == .revalidate {
      // RFC 8246 §2: an immutable response is not asked about while it is fresh, not even on reload.
      return control.isImmutable && freshness.isFresh ? .usable : .needsValidation
    }
    let directives = request.control
    // RFC 9111 §5.2.1.1; `max-age=0` has always meant "ask".
    if let limit = directives.maxAge, freshness.age > limit.count || limit.count == 0 { return .needsValidation }
    // RFC 9111 §5.2.1.3.
    if let limit = directives.minFresh, freshness.lifetime - freshness.age < limit.count { return .needsValidation }
    if freshness.isFresh { return .usable }
    // RFC 9111 §4.2.4 and §5.2.2.2.
    guard !control.mustRevalidate else { return .needsValidation }
    if let limit = directives.maxStale, freshness.staleness <= limit.count, limit != .unreadable { return .usable }
    if let window = control.staleWhileRevalidate, freshness.staleness < window.count { return .usableWhileRevalidating }
    return .needsValidation
  }

  /// RFC 9111 §3.5. Of directives that contradict each other the stricter counts.
  static func isForAnyCredential(_ control: CacheControl) -> Bool {
    (control.isPublic || control.sharedMaxAge != nil) && !control.isPrivate
  }
}
