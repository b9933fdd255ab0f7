/// Counts transfers that became history, and says when the history is to be shortened.
struct HistoryLimit {
  let interval: Int
  private var count = 0

  init(interval: Int) { self.interval = interval }

  /// True once for every `interval` transfers.
  mutating func isReached(adding added: Int) -> Bool {
    count += added
    guard count >= interval else { return false }
    count = 0
    return true
  }
}
