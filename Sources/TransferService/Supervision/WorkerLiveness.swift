import Foundation

/// Decides whether the worker process hangs. A value: it takes an event and returns the action to perform.
///
/// The supervisor asks a worker that has work for a sign of life from time to time, and one that rests only when another
/// process needs the service, so that nothing wakes while there is nothing to do; where it is not told of such needs, it asks
/// that one as well. Time is counted in ticks of the
/// supervisor's own timer, which does not run while the machine sleeps. A tick that comes late, because the supervisor
/// itself was stopped, is not to be told.
///
///     starting ──busy, resting──▶ busy ◀──▶ resting
///                                  │ tick      │ needed
///                                  └▶ asked ◀──┘
///     starting, asked ──too many ticks──▶ aborted ──ticks──▶ killed
package struct WorkerLiveness: Sendable, Equatable {
  package struct Rules: Sendable, Equatable {
    /// Seconds of a tick.
    package var tick: TimeInterval = 15
    /// Ticks that a start may take: the queue may have to be made again from a copy.
    package var ticksForStart = 12
    /// Ticks between an answer and the next question.
    package var ticksOfRest = 1
    package var ticksForAnswer = 2
    /// Ticks from the request to abort to the end by force.
    package var ticksForAbort = 1

    package init() {}
  }

  package enum Event: Sendable, Equatable {
    /// The worker's engine answers; it has transfers that are active.
    case busy
    /// The worker's engine answers; it has nothing to do.
    case resting
    /// Another process did not get an answer from the service, or found no service.
    case needed
    case tick
  }

  package enum Action: Sendable, Equatable {
    case ask
    /// SIGABRT, with the reason.
    case abort(String)
    /// SIGKILL.
    case kill
  }

  private enum State: Equatable {
    case starting(ticks: Int)
    case busy(ticks: Int)
    case resting
    case asked(ticks: Int)
    case aborted(ticks: Int)
    case killed
  }

  package let rules: Rules
  /// Whether `needed` comes when another process needs the service.
  package var isToldOfNeeds: Bool
  private var state = State.starting(ticks: 0)

  package init(rules: Rules = Rules(), isToldOfNeeds: Bool = true) {
    self.rules = rules
    self.isToldOfNeeds = isToldOfNeeds
  }

  /// Whether `tick` is to come after the time of a tick.
  package var needsTicks: Bool {
    switch state {
    case .starting, .busy, .asked, .aborted: true
    case .resting, .killed: false
    }
  }

  package mutating func handle(_ event: Event) -> Action? {
    switch (state, event) {
    // A sign that it gave before it was told to end.
    case (.aborted, .busy), (.aborted, .resting), (.killed, _), (.aborted, .needed): return nil
    case (_, .busy): state = .busy(ticks: 0)
    case (_, .resting): state = isToldOfNeeds ? .resting : .busy(ticks: 0)
    case (.busy, .needed), (.resting, .needed):
      state = .asked(ticks: 0)
      return .ask
    case (.starting, .needed), (.asked, .needed), (.resting, .tick): return nil
    case (.starting(let ticks), .tick):
      if ticks + 1 < rules.ticksForStart { state = .starting(ticks: ticks + 1) } else { return abort("start", ticks) }
    case (.busy(let ticks), .tick):
      if ticks + 1 < rules.ticksOfRest {
        state = .busy(ticks: ticks + 1)
      } else {
        state = .asked(ticks: 0)
        return .ask
      }
    case (.asked(let ticks), .tick):
      if ticks + 1 < rules.ticksForAnswer { state = .asked(ticks: ticks + 1) } else { return abort("answer", ticks) }
    case (.aborted(let ticks), .tick):
      if ticks + 1 < rules.ticksForAbort {
        state = .aborted(ticks: ticks + 1)
      } else {
        state = .killed
        return .kill
      }
    }
    return nil
  }

  private mutating func abort(_ deed: String, _ ticks: Int) -> Action {
    state = .aborted(ticks: 0)
    return .abort("it did not \(deed) within \(Double(ticks + 1) * rules.tick) s")
  }
}
