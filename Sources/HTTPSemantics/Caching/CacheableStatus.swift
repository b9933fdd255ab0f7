/// The place of a status in the rules of caching.
enum CacheableStatus {
  /// RFC 9110 §15.1: a response may be reused without an explicit lifetime.
  static func isHeuristic(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
    default: false
    }
  }

  /// The statuses whose caching this cache implements in full (RFC 9111 §5.2.2.3, must-understand).
  static func isUnderstood(_ status: Int) -> Bool {
    switch status {
    case 302, 303, 307, 400, 403, 500, 502, 503, 504: true
    default: isHeuristic(status)
    }
  }

  /// Statuses that speak about one request rather than about the resource. A stored one would answer the request that
  /// was changed because of it.
  static func isOfOneRequest(_ status: Int) -> Bool {
    switch status {
    case ..<200, 304, 401, 407, 408, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511: true
    default: false
    }
  }

  /// RFC 5861 §4: an error in whose place a stale response may be used.
  static func isServerError(_ status: Int) -> Bool { [500, 502, 503, 504].contains(status) }
}
