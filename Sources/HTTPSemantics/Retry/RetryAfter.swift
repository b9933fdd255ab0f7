/// The Retry-After field (RFC 9110 §10.2.3).
package enum RetryAfter {
  /// The shortest and the longest wait, in seconds, that a background transfer takes a server's word for.
  package static let bounds: ClosedRange<Int64> = 30...86_400

  /// How many seconds from `now` (seconds since 1970) to wait; 0 for a date that has passed, nil when unreadable.
  package static func seconds(_ value: String, now: Int64) -> Int64? {
    let text = value.trimmingHTTPWhitespace()
    if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
      // A number too great to count is a very long wait, not a malformed one.
      return Int64(decimalDigits: text.utf8) ?? .max
    }
    guard let date = HTTPDate.parse(text, now: now) else { return nil }
    let (wait, overflow) = date.subtractingReportingOverflow(now)
    return overflow ? nil : max(0, wait)
  }

  /// The same within `bounds`: a server can neither make us hammer it nor park a transfer for good.
  package static func clampedSeconds(_ value: String, now: Int64) -> Int64? {
    seconds(value, now: now).map { min(max($0, bounds.lowerBound), bounds.upperBound) }
  }
}
