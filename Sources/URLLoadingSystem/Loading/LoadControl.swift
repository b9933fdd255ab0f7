import Foundation
import HTTPTransport
import NIOCore

/// Cancellation, suspension and the two timers of a load, callable from any thread. Its state is confined to the load's
/// event loop.
///
/// A load is one flow, or two while it uploads. What the main flow waits for stands in `wait`; other waits leave a
/// handler with `abortable`. `abort` ends them all, with the abort's error.
package final class LoadControl: @unchecked Sendable {
  private let loop: any EventLoop
  private let sweeper: DeadlineSweeper

  // Loop-confined from here on.
  private(set) var abortError: (any Error)?
  /// The wait of the load's main flow.
  var wait: (any Abortable)?
  private var abortHandlers: [(id: Int, handler: (any Error) -> Void)] = []
  private var lastHandlerID = 0
  /// The app's `suspend()` stops both timers.
  private var isSuspendedByApp = false
  /// How many questions and full deliveries the load waits for: they stop only the idle timer.
  private var clientHolds = 0
  private var suspendedAt: NIODeadline?
  private var isFinished = false
  private var gates: [CheckedContinuation<Void, Never>] = []
  private var idleTimeout: TimeAmount?
  private var idleDeadline: NIODeadline?
  private var resourceDeadline: NIODeadline?
  private var sweepID: DeadlineSweeper.ID?
  /// Looks whether bytes of the request move, and calls `touch` if they do.
  private var lookAtSending: (() -> Void)?
  /// In each idle timeout: so much later than the bytes' end a load may time out.
  private static let looksPerTimeout: Int64 = 4

  init(loop: any EventLoop, sweeper: DeadlineSweeper) {
    self.loop = loop
    self.sweeper = sweeper
  }

  // MARK: From any thread

  /// Ends the load with `error` at its current or next wait. The first abort counts.
  package func abort(_ error: any Error) {
    onLoop { $0.abortNow(error) }
  }

  package func suspend() {
    onLoop {
      guard !$0.isFinished, !$0.isSuspendedByApp else { return }
      $0.isSuspendedByApp = true
      $0.suspendedAt = .now()
      $0.disarm()
    }
  }

  package func resume() {
    onLoop {
      guard $0.isSuspendedByApp else { return }
      $0.isSuspendedByApp = false
      // Neither timer runs while the app holds the load.
      if let since = $0.suspendedAt { $0.resourceDeadline = $0.resourceDeadline.map { $0 + (.now() - since) } }
      $0.suspendedAt = nil
      $0.touch()
      $0.arm()
      $0.openGates()
    }
  }

  private func onLoop(_ action: @escaping @Sendable (LoadControl) -> Void) {
    if loop.inEventLoop { action(self) } else { loop.execute { action(self) } }
  }

  // MARK: On the loop

  /// Whether the load must not go on: it was aborted, or the app has suspended it.
  var isHeld: Bool {
    loop.assertInEventLoop()
    return isSuspendedByApp || abortError != nil
  }

  /// Starts the timers. `idle` and `resource` are in seconds; values that are not positive and finite mean no limit.
  /// The caller sees to it that `finish` is called, however the load ends.
  package func startTimers(idle: TimeInterval, resource: TimeInterval) {
    loop.assertInEventLoop()
    let now = NIODeadline.now()
    idleTimeout = LoadControl.timeAmount(idle)
    idleDeadline = idleTimeout.map { now + $0 }
    resourceDeadline = LoadControl.timeAmount(resource).map { now + $0 }
    if isSuspendedByApp { suspendedAt = now }
    arm()
  }

  /// Ends both timers for good.
  func stopTimers() {
    loop.assertInEventLoop()
    disarm()
    idleTimeout = nil
    idleDeadline = nil
    resourceDeadline = nil
  }

  /// Bytes moved: the idle timer starts anew.
  package func touch() {
    loop.assertInEventLoop()
    guard let idleTimeout else { return }
    idleDeadline = .now() + idleTimeout
  }

  /// While a request's body is on its way, bytes that leave are progress, and nothing tells of them: `look` is called a
  /// few times in each idle timeout, and before the load times out. nil ends that.
  func watchSending(_ look: (() -> Void)?) {
    loop.assertInEventLoop()
    lookAtSending = look
    disarm()
    arm()
  }

  /// Throws the abort's error when there was one.
  package func check() throws {
    loop.assertInEventLoop()
    if let abortError { throw abortError }
  }

  /// Waits while the app has suspended the load. Called before every pull of bytes and before every connection.
  package func passGate() async throws {
    try check()
    while isSuspendedByApp {
      await withCheckedContinuation { gates.append($0) }
      try check()
    }
  }

  private func openGates() {
    let waiting = gates
    gates = []
    for gate in waiting { gate.resume() }
  }

  /// Runs `wait`; if the load is aborted meanwhile, calls `onAbort`, which must make `wait` end soon.
  package func abortable<Value>(
    onAbort: @escaping (any Error) -> Void, _ wait: () async throws -> Value
  ) async throws -> Value {
    try check()
    lastHandlerID &+= 1
    let id = lastHandlerID
    abortHandlers.append((id, onAbort))
    defer { abortHandlers.removeAll { $0.id == id } }
    do {
      let value = try await wait()
      try check()
      return value
    } catch {
      try check()
      throw error
    }
  }

  /// Stops the timers for good; later aborts have no effect.
  package func finish() {
    loop.assertInEventLoop()
    isFinished = true
    wait = nil
    lookAtSending = nil
    stopTimers()
    abortHandlers = []
    // An upload that the app has suspended ends as well.
    isSuspendedByApp = false
    openGates()
  }

  /// Waits for `seconds`, or until the load is aborted.
  package func sleep(_ seconds: TimeInterval) async throws {
    let sleep = LoopSleep(for: .nanoseconds(Int64(min(max(seconds, 0), 1e9) * 1e9)), on: loop)
    try await abortable(onAbort: { sleep.end($0) }) { try await sleep.wait() }
  }

  /// While the client has the load wait (an unanswered question, a full delivery), idle time does not count.
  package func whileClientHoldsLoad<Value>(_ wait: () async throws -> Value) async rethrows -> Value {
    loop.assertInEventLoop()
    clientHolds += 1
    defer {
      clientHolds -= 1
      if clientHolds == 0 { touch() }
    }
    return try await wait()
  }

  private func abortNow(_ error: any Error) {
    guard abortError == nil, !isFinished else { return }
    abortError = error
    disarm()
    let wait = self.wait
    self.wait = nil
    wait?.abort(error)
    let handlers = abortHandlers
    abortHandlers = []
    for (_, handler) in handlers { handler(error) }
    openGates()
  }

  // MARK: Timers

  private func arm() {
    guard sweepID == nil, !isSuspendedByApp, !isFinished, abortError == nil else { return }
    guard let deadline = nextDeadline() else { return }
    // The sweeper holds the load until `finish`, an abort or a deadline, and what starts timers calls `finish` at each
    // of its ends: a weak reference would make every use of the object slower.
    sweepID = sweeper.add(deadline: deadline) { [self] now in
      if loop.inEventLoop { return sweep(now: now) }
      // The load is not on the sweeper's loop yet, and is not run by its thread, which has sockets to look at.
      BlockingWork.inlineLoads.run { self.loop.execute { self.sweepInline(now: now) } }
      return nil
    }
  }

  private func sweepInline(now: NIODeadline) {
    loop.assertInEventLoop()
    guard sweepID != nil else { return }
    disarm()
    if sweep(now: now) != nil { arm() }
  }

  private func disarm() {
    if let sweepID { sweeper.remove(sweepID) }
    sweepID = nil
  }

  /// Returns when to look again; nil when there is nothing left to watch.
  private func sweep(now: NIODeadline) -> NIODeadline? {
    if let resourceDeadline, resourceDeadline <= now {
      sweepID = nil
      abortNow(ErrorMapping.resourceTimeout)
      return nil
    }
    if clientHolds > 0 { touch() }
    lookAtSending?()
    if let idleDeadline, idleDeadline <= now {
      sweepID = nil
      abortNow(ErrorMapping.idleTimeout(idleTimeout))
      return nil
    }
    return nextDeadline()
  }

  private func nextDeadline() -> NIODeadline? {
    guard let idleDeadline, let idleTimeout else { return resourceDeadline }
    let look =
      lookAtSending.map { _ in .now() + .nanoseconds(idleTimeout.nanoseconds / LoadControl.looksPerTimeout) }
      ?? idleDeadline
    let next = min(idleDeadline, look)
    return resourceDeadline.map { min($0, next) } ?? next
  }

  private static func timeAmount(_ seconds: TimeInterval) -> TimeAmount? {
    guard seconds > 0, seconds.isFinite else { return nil }
    return .nanoseconds(Int64(min(seconds, 1e9) * 1e9))
  }
}
