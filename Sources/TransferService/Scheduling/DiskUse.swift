import SystemServices

/// The bytes that apps have on the disk and those that their running transfers will add, for the quotas. A value.
///
/// Files of transfers that do not run, and copies of files to send, are counted in the queue now and then. Those of running
/// transfers are known from their reports, so that no piece that arrives asks the queue.
struct DiskUse: Sendable, Equatable {
  /// The app has no room for what a transfer needs.
  struct Shortage: Sendable, Equatable {
    /// Bytes that the app has on the disk.
    let used: Int64
    /// Bytes that its other running transfers expect still.
    let promised: Int64
    let limit: Int64

    var reason: WaitingReason { .quota(used: used, promised: promised, limit: limit) }
  }

  private struct Count: Equatable {
    var files: Int64
    var copies: Int64
    let date: BootInstant

    mutating func add(_ bytes: Int64) { files = files.saturatingAdd(bytes) }
    mutating func take(_ bytes: Int64) { files = max(0, files - max(0, bytes)) }
    mutating func addCopies(_ bytes: Int64) { copies = copies.saturatingAdd(bytes) }
  }

  private struct Run: Equatable {
    let app: AppID
    var received: Int64
    /// Bytes that it expects still, where they were claimed.
    var rest: Int64 = 0
  }

  private var counts: [AppID: Count] = [:]
  private var runs: [TransferID: Run] = [:]

  /// Seconds that a count is good for: apps take files without its being changed.
  private static let age: Double = 5

  // MARK: Counting

  func needsCount(of app: AppID, at now: BootInstant) -> Bool {
    guard let count = counts[app] else { return true }
    return now - count.date >= DiskUse.age
  }

  /// Transfers whose parts are not to be counted in the queue.
  func running(of app: AppID) -> [TransferID] { runs.filter { $0.value.app == app }.map(\.key) }

  /// - Parameters:
  ///   - files: Bytes of parts and of finished files, without those of running transfers.
  ///   - copies: Bytes of copies of files to send.
  mutating func counted(files: Int64, copies: Int64, of app: AppID, at now: BootInstant) {
    counts[app] = Count(files: files, copies: copies, date: now)
  }

  /// Files were copied since they were counted.
  mutating func addCopies(_ bytes: Int64, of app: AppID) { counts[app]?.addCopies(bytes) }

  // MARK: Runs

  /// - Parameter received: Bytes of its part, which were counted as those of a transfer that does not run.
  mutating func began(_ transfer: TransferID, of app: AppID, received: Int64) {
    ended(transfer)
    counts[app]?.take(received)
    runs[transfer] = Run(app: app, received: received)
  }

  mutating func advanced(_ transfer: TransferID, to received: Int64) {
    guard var run = runs[transfer] else { return }
    run.rest = max(0, run.rest - max(0, received - run.received))
    run.received = max(0, received)
    runs[transfer] = run
  }

  /// Claims bytes that a running transfer expects still, in place of its earlier claim.
  mutating func claim(_ rest: Int64, for transfer: TransferID) { runs[transfer]?.rest = max(0, rest) }

  /// It runs no more. Its part stays.
  mutating func ended(_ transfer: TransferID) {
    guard let run = runs.removeValue(forKey: transfer) else { return }
    counts[run.app]?.add(run.received)
  }

  /// The part of a transfer that does not run was given up since it was counted.
  mutating func gaveUp(_ received: Int64, of app: AppID) { counts[app]?.take(received) }

  // MARK: Room

  /// Why a transfer may not have more bytes; nil while it may.
  ///
  /// - Parameters:
  ///   - missing: Bytes that it needs still; nil where that is not known, and then there has to be room for one.
  ///   - countsCopies: Whether copies of files to send count.
  func shortage(
    of missing: Int64?, for transfer: TransferID, of app: AppID, limit: Int64, countsCopies: Bool = true
  ) -> Shortage? {
    let (used, promised) = sums(of: app, besides: transfer, countsCopies: countsCopies)
    let taken = used.saturatingAdd(promised)
    // Servers announce any length.
    let hasRoom = taken <= limit && missing ?? 1 <= limit - taken
    return hasRoom ? nil : Shortage(used: used, promised: promised, limit: limit)
  }

  /// Whether the bytes that have arrived are more than the app may have, with those that other transfers expect.
  func isOver(_ limit: Int64, by transfer: TransferID) -> Bool {
    guard let app = runs[transfer]?.app else { return false }
    let (used, promised) = sums(of: app, besides: transfer, countsCopies: true)
    return used.saturatingAdd(promised) > limit
  }

  /// Bytes that an app may have besides those that it has and expects.
  func room(of app: AppID, limit: Int64) -> Int64 {
    let (used, promised) = sums(of: app, besides: nil, countsCopies: true)
    return max(0, limit - min(limit, used.saturatingAdd(promised)))
  }

  /// - Parameter transfer: What it expects is left out.
  private func sums(of app: AppID, besides transfer: TransferID?, countsCopies: Bool) -> (used: Int64, promised: Int64)
  {
    let count = counts[app]
    var used = (count?.files ?? 0).saturatingAdd(countsCopies ? count?.copies ?? 0 : 0)
    var promised: Int64 = 0
    // A few dozen run at most.
    for (id, run) in runs where run.app == app {
      used = used.saturatingAdd(run.received)
      if id != transfer { promised = promised.saturatingAdd(run.rest) }
    }
    return (used, promised)
  }
}
