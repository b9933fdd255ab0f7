/// An answer by which a server says that it can't serve now, and nothing about the resource.
package struct PassingRefusal: Error, Sendable, Equatable {
  package let status: Int
  /// Seconds that the server asks to wait, within `RetryAfter.bounds`; nil when it does not say.
  package let wait: Int64?

  package init(status: Int, wait: Int64? = nil) {
    self.status = status
    self.wait = wait
  }

  /// nil for an answer that says something about the resource.
  /// - Parameter now: seconds since 1970.
  package init?(status: Int, fields: HTTPFields, now: Int64) {
    switch status {
    // RFC 9110 §15.5.9, RFC 6585 §4, RFC 9110 §15.6.
    case 408, 429, 500...599: break
    default: return nil
    }
    self.status = status
    wait = fields["Retry-After"].flatMap { RetryAfter.clampedSeconds($0, now: now) }
  }
}
