import NIOCore

/// Decides when a connection to the service is given up because no answer comes. A value that is told the time.
///
/// Some requests are answered late for good reasons: a cancellation waits for the disk, and others wait behind a thousand.
/// So after half of the time without any message the service is asked something that it answers at once, and only
/// when that is not answered in the other half is the connection given up.
struct AnswerPatience {
  enum Action: Equatable {
    case nothing
    case probe
    case giveUp
  }

  private enum State {
    case idle
    case waiting(until: NIODeadline)
    case probing(until: NIODeadline)
  }

  private let half: TimeAmount
  private var state = State.idle

  /// - Parameter limit: how long no message may come while a request waits.
  init(limit: TimeAmount) { half = .nanoseconds(limit.nanoseconds / 2) }

  /// When to call `timePassed`; nil as long as there is nothing to wait for.
  var deadline: NIODeadline? {
    switch state {
    case .idle: nil
    case .waiting(let until), .probing(let until): until
    }
  }

  mutating func sentRequest(at now: NIODeadline) {
    if case .idle = state { state = .waiting(until: now + half) }
  }

  /// - Parameter awaitsMore: whether a request waits still.
  mutating func receivedMessage(awaitsMore: Bool, at now: NIODeadline) {
    state = awaitsMore ? .waiting(until: now + half) : .idle
  }

  mutating func timePassed(at now: NIODeadline) -> Action {
    switch state {
    case .waiting(let until) where until <= now:
      state = .probing(until: now + half)
      return .probe
    case .probing(let until) where until <= now:
      state = .idle
      return .giveUp
    case .idle, .waiting, .probing: return .nothing
    }
  }
}
