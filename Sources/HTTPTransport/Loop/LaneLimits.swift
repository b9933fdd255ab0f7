import NIOCore

/// Decides when work that may block for long gets another thread. No threads, no clock.
struct LaneLimits: Sendable {
  let limit: Int
  let patience: TimeAmount
  let most: Int
  private(set) var threads = 0
  /// When the work that runs began, by its number.
  private var running: [Int: NIODeadline] = [:]
  private var lastNumber = 0

  /// - Parameters:
  ///   - limit: Most pieces of work that count.
  ///   - patience: How long a piece of work counts from its beginning.
  ///   - most: threads in all.
  init(limit: Int, patience: TimeAmount, most: Int) {
    self.limit = max(limit, 1)
    self.patience = patience
    self.most = max(most, limit, 1)
  }

  /// Work has begun on a thread that was there. Returns its number.
  mutating func began(at now: NIODeadline) -> Int {
    lastNumber += 1
    running[lastNumber] = now
    return lastNumber
  }

  mutating func beganOnNewThread(at now: NIODeadline) -> Int {
    threads += 1
    return began(at: now)
  }

  mutating func ended(_ number: Int) { running[number] = nil }

  mutating func threadEnded() { threads -= 1 }

  func mayAddThread(at now: NIODeadline) -> Bool {
    threads < most && running.values.count { $0 + patience > now } < limit
  }

  /// The next time at which a thread may be added because work counts no longer; nil where only the end of work makes room.
  func nextRoom(after now: NIODeadline) -> NIODeadline? {
    guard threads < most else { return nil }
    if mayAddThread(at: now) { return now }
    return running.values.lazy.map { $0 + patience }.filter { $0 > now }.min()
  }
}
