import NIOCore

/// Watches the deadlines of many loads on one loop with a single timer.
///
/// A load's idle deadline moves with every byte; rescheduling a timer for each would cost more than the byte. So the
/// sweeper wakes at the earliest deadline it was told, asks each due entry for its true one, and sleeps again.
/// Confined to its loop.
package final class DeadlineSweeper: @unchecked Sendable {
  package typealias ID = UInt64

  private struct Entry {
    var deadline: NIODeadline
    let due: (NIODeadline) -> NIODeadline?
  }

  private let loop: any EventLoop
  private var entries: [ID: Entry] = [:]
  private var lastID: ID = 0
  private var timer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?
  /// Wakes are at least this far apart, so that ten thousand staggered loads do not mean ten thousand wakes.
  private let resolution: TimeAmount = .milliseconds(5)

  init(loop: any EventLoop) { self.loop = loop }

  /// Calls `due` once `deadline` has passed; it returns the next time to be asked, or nil to be forgotten.
  package func add(deadline: NIODeadline, due: @escaping (NIODeadline) -> NIODeadline?) -> ID {
    loop.assertInEventLoop()
    lastID &+= 1
    entries[lastID] = Entry(deadline: deadline, due: due)
    wake(at: deadline)
    return lastID
  }

  package func remove(_ id: ID) {
    loop.assertInEventLoop()
    entries[id] = nil
  }

  private func wake(at deadline: NIODeadline) {
    if let timer, timer.deadline <= deadline { return }
    timer?.scheduled.cancel()
    let scheduled = loop.assumeIsolated().scheduleTask(deadline: deadline) { self.sweep() }
    timer = (deadline, scheduled)
  }

  private func sweep() {
    loop.assertInEventLoop()
    timer = nil
    let now = NIODeadline.now()
    for (id, entry) in entries where entry.deadline <= now {
      if let next = entry.due(now) {
        entries[id]?.deadline = max(next, now + resolution)
      } else {
        entries[id] = nil
      }
    }
    if let earliest = entries.values.lazy.map(\.deadline).min() { wake(at: earliest) }
  }
}
