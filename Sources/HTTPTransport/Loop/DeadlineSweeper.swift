import NIOCore
import Synchronization

/// Watches the deadlines of many loads with a single timer, on one loop.
///
/// A load's idle deadline moves with every byte; rescheduling a timer for each would cost more than the byte. So the
/// sweeper wakes at the earliest deadline it was told, asks each due entry for its true one, and sleeps again.
package final class DeadlineSweeper: Sendable {
  package typealias ID = SlotTable<Entry>.ID
  /// The next time to be asked; nil to be forgotten.
  package typealias Due = @Sendable (NIODeadline) -> NIODeadline?

  package struct Entry: Sendable {
    fileprivate var deadline: NIODeadline
    fileprivate let due: Due
  }

  private struct State {
    /// Without hashing: each load is added once, and removed.
    var entries = SlotTable<Entry>()
    /// The time at which the sweeper wakes; nil when nothing is arranged.
    var wake: NIODeadline?
    var timer: Scheduled<Void>?

    /// Whether a timer is to be set for `deadline`, which is then the time to wake.
    mutating func mustWake(at deadline: NIODeadline) -> Bool {
      if let wake, wake <= deadline { return false }
      wake = deadline
      return true
    }
  }

  private let loop: any EventLoop
  private let state = Mutex(State())
  /// Wakes are at least this far apart, so that ten thousand staggered loads do not mean ten thousand wakes.
  private static let resolution: TimeAmount = .milliseconds(5)

  init(loop: any EventLoop) { self.loop = loop }

  /// How many entries there is memory for.
  var room: Int { state.withLock { $0.entries.room } }

  /// Calls `due` on the loop once `deadline` has passed. From any thread.
  package func add(deadline: NIODeadline, due: @escaping Due) -> ID {
    let (id, mustArrange) = state.withLock { state in
      (state.entries.insert(Entry(deadline: deadline, due: due)), state.mustWake(at: deadline))
    }
    if mustArrange { arrange(deadline) }
    return id
  }

  /// From any thread. The entry may be asked at this moment.
  package func remove(_ id: ID) {
    let removed = state.withLock { $0.entries.remove(id) }
    // Released here, after the lock: it may have been the last reference to a load.
    withExtendedLifetime(removed) {}
  }

  private func arrange(_ deadline: NIODeadline) {
    let timer = loop.scheduleTask(deadline: deadline) { self.sweep(at: deadline) }
    let needless = state.withLock { state in
      // Another thread may have arranged an earlier time meanwhile.
      guard state.wake == deadline else { return timer as Scheduled<Void>? }
      let replaced = state.timer
      state.timer = timer
      return replaced
    }
    needless?.cancel()
  }

  private func sweep(at deadline: NIODeadline) {
    loop.assertInEventLoop()
    let now = NIODeadline.now()
    let due = state.withLock { state -> [(ID, Entry)]? in
      guard state.wake == deadline else { return nil }
      (state.wake, state.timer) = (nil, nil)
      return state.entries.ids.compactMap { id in
        state.entries[id].flatMap { $0.deadline <= now ? (id, $0) : nil }
      }
    }
    guard let due else { return }
    for (id, entry) in due {
      let next = entry.due(now)
      state.withLock { state in
        // It may have been removed meanwhile.
        guard state.entries[id] != nil else { return }
        state.entries[id] = next.map { Entry(deadline: max($0, now + DeadlineSweeper.resolution), due: entry.due) }
      }
    }
    let earliest = state.withLock { state -> NIODeadline? in
      // All have been looked at in any case.
      state.entries.trim()
      guard let earliest = state.entries.ids.compactMap({ state.entries[$0]?.deadline }).min() else { return nil }
      return state.mustWake(at: earliest) ? earliest : nil
    }
    if let earliest { arrange(earliest) }
  }
}
