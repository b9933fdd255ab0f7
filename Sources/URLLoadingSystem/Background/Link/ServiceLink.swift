/// Decides when a background session connects to the transfer service, when it tries again and when it gives up. A value:
/// it takes an event and returns the action to perform, and has neither connection, clock nor lock.
///
///     idle ──start──▶ connecting ──attached──▶ attached
///                      ▲  ▲  │failed               │ closed
///            pauseEnded│  │  ▼                     │
///                   waiting  └─────────────────────┘
///     any ──end, invalidated, or a failure that is final──▶ ended
///
/// A connection that ends is made again at once, but only once in a row: where the session is attached again and again
/// and every connection ends before it was of use, there are pauses between them, as between failures.
///
/// Connections are numbered. An event of an earlier connection than the present one has no effect.
struct ServiceLink {
  /// The reason for a connection.
  enum Purpose: Equatable {
    case serveTasks
    /// Nothing is left to do but to have the service forget the session.
    case invalidateSession
  }

  enum Event: Equatable {
    case start
    /// The session is attached through the connection.
    case attached(connection: Int)
    /// The connection could not be made, or the session could not be attached through it.
    case failed(connection: Int, Failure)
    case closed(connection: Int)
    /// The connection was of use: the service has granted a request of it, such as an acknowledgement of events or a
    /// creation of tasks, or it has lasted for `usefulAge`.
    case wasUseful(connection: Int)
    case pauseEnded
    /// The session was invalidated and its last task has ended.
    case invalidate
    /// The service has forgotten the session, or will never do so.
    case invalidated
    case end
  }

  enum Failure: Equatable {
    /// Another process holds the session.
    /// - Parameter forEvents: whether that one was started for events, and ends when it has handled them.
    case heldElsewhere(String, forEvents: Bool = false)
    /// The service is about to end, or can't write its queue at the moment.
    case temporary
    case refused(String)
    /// - Parameters:
    ///   - hasTasks: whether the service has tasks of the session.
    ///   - hasQueue: whether the service has a queue on the disk, which may have tasks of the session.
    ///   - isExpected: whether the service was there a moment ago.
    case unavailable(String, hasTasks: Bool, hasQueue: Bool = false, isExpected: Bool = false)
  }

  /// Why the session can't be used.
  enum FinalReason: Equatable {
    case heldElsewhere(String)
    case disconnected(String)
  }

  enum Action: Equatable {
    case nothing
    case connect(connection: Int, Purpose)
    case pause(milliseconds: Int64)
    /// The same. The service does not come for so long that tasks which it does not have fail meanwhile, with this sentence.
    /// Those in its queue are safe, and the session goes on with them when it comes.
    case pauseWithoutService(milliseconds: Int64, String)
    /// Asks the service, over the present connection, to forget the session.
    case tellInvalidation
    case fail(FinalReason)
    /// Closes the connection and lets go of the session.
    case release
  }

  private enum State {
    case idle
    case connecting(failures: Int)
    /// The connection ended while the session was being attached through it.
    case closedEarly(failures: Int)
    case attached
    case waiting(failures: Int)
    case ended
  }

  private var state = State.idle
  private(set) var purpose = Purpose.serveTasks
  /// The number of the present connection, or of the last.
  private(set) var connection = 0
  /// Connections in a row through which the session was attached and which were of no use, the present one included.
  private var uselessConnections = 0

  /// Seconds after which a connection counts as useful, whatever came of it.
  static let usefulAge: Int64 = 10
  /// Another process that held the session may have died a moment ago, and the service not have noticed yet.
  private static let triesWhileHeldElsewhere = 5
  /// The pauses between them add up to a minute and a half.
  private static let triesWhileHeldForEvents = 32
  private static let triesWithoutTasks = 2
  /// The pauses between them add up to ten minutes.
  static let usualTries = 192
  private let triesWhileExpected: Int
  /// The pauses between them add up to half a minute.
  private static let triesOfInvalidation = 14

  /// - Parameter tries: of a service that should be there, until new tasks fail.
  init(tries: Int = ServiceLink.usualTries) { triesWhileExpected = tries }

  var isEnded: Bool { if case .ended = state { true } else { false } }

  /// Whether the connection of that number is the present one.
  func isPresent(_ number: Int) -> Bool { number == connection && !isEnded }

  mutating func handle(_ event: Event) -> Action {
    switch event {
    case .start:
      guard case .idle = state else { return .nothing }
      return connect(failures: 0)
    case .attached(let number): return isPresent(number) ? attached() : .nothing
    case .failed(let number, let failure): return isPresent(number) ? failed(failure) : .nothing
    case .closed(let number): return isPresent(number) ? closed() : .nothing
    case .wasUseful(let number):
      if isPresent(number), case .attached = state { uselessConnections = 0 }
      return .nothing
    case .pauseEnded:
      guard case .waiting(let failures) = state else { return .nothing }
      return connect(failures: failures)
    case .invalidate: return invalidate()
    case .invalidated, .end:
      state = .ended
      return .release
    }
  }

  private mutating func connect(failures: Int) -> Action {
    connection += 1
    state = .connecting(failures: failures)
    return .connect(connection: connection, purpose)
  }

  private mutating func attached() -> Action {
    switch state {
    case .connecting:
      uselessConnections += 1
      state = .attached
      return purpose == .invalidateSession ? .tellInvalidation : .nothing
    case .closedEarly:
      uselessConnections += 1
      return connectAgain()
    case .idle, .attached, .waiting, .ended: return .nothing
    }
  }

  private mutating func closed() -> Action {
    switch state {
    case .attached: return connectAgain()
    case .connecting(let failures):
      // Whether it had been attached is said by the event that follows.
      state = .closedEarly(failures: failures)
      return .nothing
    case .idle, .closedEarly, .waiting, .ended: return .nothing
    }
  }

  /// After a connection that was attached.
  private mutating func connectAgain() -> Action {
    guard uselessConnections > 1 else { return connect(failures: 0) }
    if purpose == .invalidateSession, uselessConnections > ServiceLink.triesOfInvalidation {
      state = .ended
      return .release
    }
    state = .waiting(failures: 0)
    return ServiceLink.pause(after: uselessConnections - 1)
  }

  private mutating func failed(_ failure: Failure) -> Action {
    let failures: Int
    switch state {
    case .connecting(let earlier), .closedEarly(let earlier): failures = earlier + 1
    case .idle, .attached, .waiting, .ended: return .nothing
    }
    switch purpose {
    case .invalidateSession:
      // A service that can't be reached for half a minute keeps the session.
      if failures > ServiceLink.triesOfInvalidation {
        state = .ended
        return .release
      }
    case .serveTasks:
      if let reason = finalReason(of: failure, after: failures) {
        state = .ended
        return .fail(reason)
      }
      if case .unavailable(let sentence, hasTasks: false, hasQueue: true, _) = failure, failures > triesWhileExpected {
        state = .waiting(failures: failures)
        let doublings = min(Int64(failures - triesWhileExpected), 3)
        return .pauseWithoutService(milliseconds: ServiceLink.milliseconds(after: failures) << doublings, sentence)
      }
    }
    state = .waiting(failures: failures)
    return ServiceLink.pause(after: failures)
  }

  private static func pause(after failures: Int) -> Action { .pause(milliseconds: milliseconds(after: failures)) }

  private static func milliseconds(after failures: Int) -> Int64 { 50 << min(Int64(failures), 6) }

  /// nil while it is worth trying again.
  private func finalReason(of failure: Failure, after failures: Int) -> FinalReason? {
    switch failure {
    case .heldElsewhere(let sentence, let forEvents):
      failures > (forEvents ? ServiceLink.triesWhileHeldForEvents : ServiceLink.triesWhileHeldElsewhere)
        ? .heldElsewhere(sentence) : nil
    case .temporary: nil
    case .refused(let sentence): .disconnected(sentence)
    // The tasks are safe with the service, so it is waited for.
    case .unavailable(_, hasTasks: true, _, _), .unavailable(_, _, hasQueue: true, _): nil
    case .unavailable(let sentence, hasTasks: false, hasQueue: false, let isExpected):
      failures > (isExpected ? triesWhileExpected : ServiceLink.triesWithoutTasks) ? .disconnected(sentence) : nil
    }
  }

  private mutating func invalidate() -> Action {
    purpose = .invalidateSession
    uselessConnections = 0
    switch state {
    case .attached: return .tellInvalidation
    case .idle, .ended:
      state = .ended
      return .release
    case .connecting, .closedEarly, .waiting: return .nothing
    }
  }
}
