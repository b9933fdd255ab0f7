import TransferProtocol

/// How many cancellations of each app are not answered yet, so that an app whose cancellations wait for the disk does not
/// fill the memory of the service, over however many connections it sends them.
struct WaitingCancellations {
  private let limit: Int
  private var counts: [AppID: Int] = [:]

  init(limit: Int) { self.limit = limit }

  var isEmpty: Bool { counts.isEmpty }

  /// Counts more of them. For each, `end` has to follow when it is answered, or nothing waits for the answer any more.
  ///
  /// - Returns: false when there are too many then; none is counted.
  mutating func begin(_ app: AppID, count new: Int = 1) -> Bool {
    let count = counts[app] ?? 0
    guard count + new <= limit else { return false }
    counts[app] = count + new
    return true
  }

  mutating func end(_ app: AppID) {
    let count = (counts[app] ?? 0) - 1
    counts[app] = count > 0 ? count : nil
  }
}
