import Foundation
import Synchronization

/// The input source through which calls reach the thread of a run loop in one of its modes. One for each run loop and
/// mode, shared by all that is scheduled there.
///
/// A block that a run loop performs neither keeps the loop in its mode nor makes `run(mode:before:)` return. An input
/// source does both, as the connections of Apple's systems do, so that a thread may wait for a connection by running
/// its loop. Foundation exposes sources as `RunLoop._Source`, and no call that wakes a run loop but this one: setting
/// the date of one of its timers. `Docs/Decisions/0108-delegate-calls-on-run-loops.md`.
final class RunLoopInput: @unchecked Sendable {
  // Sendable by hand: what changes is behind locks, and the functions of run loops may be called on any thread.

  private struct State {
    /// How often the source is to be in its mode.
    var users = 0
    /// The same for each delivery.
    var usesByDelivery: [ObjectIdentifier: Int] = [:]
    /// The deliveries that have a call to make, each once: the mode may never run.
    var waiting: [ScheduledDelivery] = []

    mutating func changeUses(of delivery: ScheduledDelivery, by change: Int) {
      let uses = usesByDelivery[ObjectIdentifier(delivery), default: 0] + change
      usesByDelivery[ObjectIdentifier(delivery)] = uses == 0 ? nil : uses
    }
  }

  private final class Source: RunLoop._Source {
    let state = Mutex(State())
    /// Set once, before the source is in a run loop.
    weak var input: RunLoopInput?

    override func perform() {
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      guard let input else { return }
      for delivery in waiting { delivery.runWaiting(of: input) }
    }
  }

  private struct Key: Hashable {
    let loop: ObjectIdentifier
    let mode: RunLoop.Mode
  }

  /// A source must outlive every call that a run loop makes to it, so inputs are kept until their run loop is gone.
  private static let known = Mutex<[Key: RunLoopInput]>([:])

  private weak let loop: RunLoop?
  private let mode: RunLoop.Mode
  private let source = Source()
  private let alarm: RunLoopAlarm

  private init(_ loop: RunLoop, _ mode: RunLoop.Mode, _ alarm: RunLoopAlarm) {
    self.loop = loop
    self.mode = mode
    self.alarm = alarm
    source.input = self
  }

  /// The input of a run loop in a mode.
  static func of(_ loop: RunLoop, _ mode: RunLoop.Mode) -> RunLoopInput {
    let key = Key(loop: ObjectIdentifier(loop), mode: mode)
    nonisolated(unsafe) let loop = loop
    return known.withLock { known in
      if let found = known[key], found.loop === loop { return found }
      known = known.filter { $0.value.loop != nil }
      let alarm = known.values.first { $0.loop === loop }?.alarm ?? RunLoopAlarm(loop)
      let made = RunLoopInput(loop, mode, alarm)
      known[key] = made
      return made
    }
  }

  func isOf(_ loop: RunLoop, _ mode: RunLoop.Mode) -> Bool { self.loop === loop && self.mode == mode }

  /// Keeps the run loop in its mode until `leave` was called as often.
  func enter(_ delivery: ScheduledDelivery) {
    source.state.withLock { state in
      state.users += 1
      state.changeUses(of: delivery, by: 1)
      if state.users == 1 { loop?._add(source, forMode: mode) }
    }
  }

  func leave(_ delivery: ScheduledDelivery) {
    let left = source.state.withLock { state -> ScheduledDelivery? in
      state.users -= 1
      state.changeUses(of: delivery, by: -1)
      if state.users == 0 { loop?._remove(source, for: mode) }
      return state.waiting.firstIndex { $0 === delivery }.map { state.waiting.remove(at: $0) }
    }
    // Released outside the lock: it may leave other run loops then.
    withExtendedLifetime(left) {}
    // A loop that is left without a source returns to its caller.
    alarm.wake()
  }

  /// Has `delivery` make its call on the thread of the run loop, when that runs in the mode.
  func run(_ delivery: ScheduledDelivery) {
    source.state.withLock { state in
      guard state.usesByDelivery[ObjectIdentifier(delivery)] != nil,
        !state.waiting.contains(where: { $0 === delivery })
      else { return }
      state.waiting.append(delivery)
    }
    source.signal()
    alarm.wake()
  }

  /// How many deliveries have a call to make here.
  var waitingCount: Int { source.state.withLock { $0.waiting.count } }
}
