/// How often and when a transfer is tried again after failures. nil means the service's own rule.
package struct RetryDescription: Codable, Sendable, Hashable {
  /// How many tries in a row may bring nothing; 1 or more. nil: as many as fit into the time for the resource.
  package var maximumAttempts: Int?
  /// Seconds after the first failure; each further wait is twice as long.
  package var pause: Double?
  /// Seconds that no wait is longer than, but for one that a server asks for.
  package var longestPause: Double?
  /// The HTTP statuses of answers that are no answer: the request is made again. They are added to those by which a server
  /// refuses the rest of a download.
  package var statuses: [Int]?

  package init() {}

  /// Whether it says something that can be done.
  package var isSound: Bool {
    func isLength(_ seconds: Double?) -> Bool { seconds.map { $0.isFinite && $0 >= 0 } ?? true }
    return (maximumAttempts ?? 1) >= 1 && isLength(pause) && isLength(longestPause) && (statuses?.count ?? 0) <= 600
  }
}
