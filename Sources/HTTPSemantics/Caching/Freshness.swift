/// How long a stored response may be used without asking, and how old it is (RFC 9111 §4.2).
package struct Freshness: Sendable, Equatable {
  /// In seconds since the response was made by its origin; never negative.
  package var lifetime: Int64
  package var age: Int64

  /// RFC 9111 §4.2: fresh as long as the age has not reached the lifetime.
  package var isFresh: Bool { lifetime > age }
  /// Seconds since the response became stale; 0 for a fresh one and in the first second.
  package var staleness: Int64 { max(0, age - lifetime) }

  package init(_ stored: StoredHead, _ control: CacheControl, now: Int64) {
    age = Freshness.age(of: stored, now: now)
    lifetime = Freshness.lifetime(of: stored, control)
  }

  // MARK: Age

  /// RFC 9111 §4.2.3.
  static func age(of stored: StoredHead, now: Int64) -> Int64 {
    let fields = stored.head.fields
    let apparent = date(of: stored).map { max(0, stored.responseTime - $0) } ?? 0
    let delay = max(0, stored.responseTime - stored.requestTime)
    let initial = max(apparent, ageValue(fields) + delay)
    // A clock that was set back must not make a response younger than it was on arrival.
    return min(initial + max(0, now - stored.responseTime), CacheControl.largestDelta * 2)
  }

  /// RFC 9111 §5.1: of several values the first counts, and one that is no number is ignored.
  static func ageValue(_ fields: HTTPFields) -> Int64 {
    guard let value = fields.values("Age").first else { return 0 }
    let member = value.utf8.prefix { $0 != UInt8(ascii: ",") }
    return CacheControl.deltaSeconds(Array(Substring(member).trimmingHTTPWhitespace().utf8)) ?? 0
  }

  private static func date(of stored: StoredHead) -> Int64? {
    CacheDate.value(of: "Date", in: stored.head.fields, now: stored.responseTime)
  }

  // MARK: Lifetime

  /// RFC 9111 §4.2.1, for a private cache: s-maxage is not for it.
  static func lifetime(of stored: StoredHead, _ control: CacheControl) -> Int64 {
    if let maxAge = control.maxAge { return maxAge.count }
    let fields = stored.head.fields
    let origin = date(of: stored) ?? stored.responseTime
    if fields.contains("Expires") {
      // RFC 9111 §5.3: an invalid date, `0` above all, lies in the past.
      guard let expires = CacheDate.value(of: "Expires", in: fields, now: stored.responseTime) else { return 0 }
      return max(0, expires - origin)
    }
    return heuristicLifetime(of: stored, control, origin: origin)
  }

  /// RFC 9111 §4.2.2: a tenth of the time since the last modification, and at most a week.
  private static func heuristicLifetime(of stored: StoredHead, _ control: CacheControl, origin: Int64) -> Int64 {
    guard control.isPublic || CacheableStatus.isHeuristic(stored.head.status),
      let modified = CacheDate.value(of: "Last-Modified", in: stored.head.fields, now: stored.responseTime),
      modified < origin
    else { return 0 }
    return min((origin - modified) / 10, 604_800)
  }
}
