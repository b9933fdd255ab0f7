/// When a keychain that could not be read is asked again. A value without a clock: each failure in a row doubles the
/// pause, so that a keychain that asks the user, or does not answer, is not asked at each request.
struct KeychainPause: Sendable {
  static let shortest = Duration.seconds(10)
  static let longest = Duration.seconds(600)

  private var length = KeychainPause.shortest
  /// nil when the last read worked.
  private var end: ContinuousClock.Instant?

  func isOver(at now: ContinuousClock.Instant) -> Bool { end.map { now >= $0 } ?? true }

  mutating func failed(at now: ContinuousClock.Instant) {
    // Reads that failed at the same time count once.
    guard isOver(at: now) else { return }
    end = now + length
    length = min(length * 2, KeychainPause.longest)
  }

  mutating func succeeded() { self = KeychainPause() }
}
