import NIOCore

/// When to ask a silent server whether it is still there, and when to give it up. Told the time; knows no timer.
///
/// A connection on which an answer is due and nothing arrives is asked with PING (RFC 9113 §6.7). While the server
/// answers but sends nothing else, the questions become rarer: servers take frequent ones for an attack.
package struct HTTP2Liveness {
  package enum Action: Equatable {
    case wait(until: NIODeadline)
    case ping
    case giveUp
  }

  private let interval: TimeAmount
  private let patience: TimeAmount
  private var quiet: TimeAmount
  private var lastHeard: NIODeadline
  private var asked: NIODeadline?

  private static let longest = TimeAmount.minutes(5)

  package init(interval: TimeAmount, patience: TimeAmount, at now: NIODeadline) {
    self.interval = interval
    self.patience = patience
    quiet = interval
    lastHeard = now
  }

  /// A frame arrived that belongs to no message.
  package mutating func heard(_ frame: HTTP2Frame, at now: NIODeadline) {
    if case .pingAcknowledged = frame { acknowledged(at: now) } else { heard(at: now) }
  }

  /// Something arrived, or something was asked of a server that had been left alone.
  package mutating func heard(at now: NIODeadline) {
    lastHeard = now
    asked = nil
    quiet = interval
  }

  /// The answer to a PING arrived, and perhaps nothing else.
  package mutating func acknowledged(at now: NIODeadline) {
    guard asked != nil else { return }
    asked = nil
    lastHeard = now
    quiet = max(interval, min(.nanoseconds(quiet.nanoseconds * 4), HTTP2Liveness.longest))
  }

  package mutating func check(at now: NIODeadline) -> Action {
    if let asked {
      let deadline = asked + patience
      return now >= deadline ? .giveUp : .wait(until: deadline)
    }
    let due = lastHeard + quiet
    guard now >= due else { return .wait(until: due) }
    asked = now
    return .ping
  }

  package var nextCheck: NIODeadline { asked.map { $0 + patience } ?? lastHeard + quiet }
}
