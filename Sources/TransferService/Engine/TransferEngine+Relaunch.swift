import Foundation
import SystemServices
import TransferProtocol

extension TransferEngine {
  /// How long until it is looked again whether an app that let go of its session has really ended.
  private static let holderCheck: TimeInterval = 0.5

  /// Starts the app of a session with events that nobody is there to take, now or later.
  func considerLaunch(_ id: SessionID) {
    guard let session = sessions[id], !session.isLaunchPlanned, wantsLaunch(session) else { return }
    if session.lastHolder?.isAlive ?? false { return planLaunch(id, in: TransferEngine.holderCheck) }
    let grace = settings.launchGrace - (clock.now - startedAt)
    let since = session.stored.lastLaunch.map {
      clock.now - $0.instant(on: clock, past: settings.launches.longestWait, future: 0)
    }
    guard let wait = settings.launches.wait(launches: session.stored.launches, sinceLast: since) else {
      refuseLaunch(id, "it was started \(session.stored.launches) times and never said that it was done")
      return
    }
    let pause = max(wait, grace)
    if pause > 0 { planLaunch(id, in: pause) } else { launch(id) }
  }

  private func wantsLaunch(_ session: LiveSession) -> Bool {
    !isShuttingDown && session.holder == nil && !session.isLaunched && session.launchRefusal == nil
      && session.stored.options.sessionSendsLaunchEvents ?? true && !hasActiveTransfers(session)
      && (session.stored.launches > 0 || ((try? store.eventCount(of: session.stored.id)) ?? 0) > 0)
  }

  private func planLaunch(_ id: SessionID, in seconds: TimeInterval) {
    sessions[id]?.isLaunchPlanned = true
    after(min(seconds, 60)) { engine in
      engine.sessions[id]?.isLaunchPlanned = false
      engine.considerSession(id)
    }
  }

  private func launch(_ id: SessionID) {
    guard let session = sessions[id] else { return }
    let launches = session.stored.launches + 1
    let instant = DurableInstant(clock.now, clock: clock)
    do {
      // Noted first: a service that dies over a launch does not repeat it without end.
      try store.setLaunches(launches, at: instant, of: id)
      sessions[id]?.stored.launches = launches
      sessions[id]?.stored.lastLaunch = instant
      launchRound += 1
      let round = launchRound
      try launcher.launch(session.stored.executable, session: session.stored.identifier) {
        self.queue.async { self.launchIsOver(id, round: round) }
      }
      sessions[id]?.isLaunched = true
      sessions[id]?.launchRound = round
      // One that hangs must not keep its session, and this service, waiting for ever.
      after(settings.launchPatience) { $0.launchIsOver(id, round: round) }
      log.info("started \(session.stored.executable.path) for session \(session.stored.identifier)")
    } catch  where launches < TransferEngine.launchAttempts && TransferEngine.isTemporary(error) {
      log.notice("\(session.stored.executable.path) can't be started now: \(error)")
      planLaunch(id, in: TransferEngine.holderCheck)
    } catch {
      refuseLaunch(id, "\(error)")
    }
  }

  /// How often a launch that fails for a reason that may pass is tried: for about an hour.
  private static let launchAttempts = 9

  /// The machine is short of something, or the program is just being replaced.
  private static func isTemporary(_ error: any Error) -> Bool {
    switch error {
    case let error as SystemError: [EAGAIN, ENOMEM, ENOENT, ETXTBSY].contains(error.code)
    case ExecutableIdentity.Change.missing: true
    default: false
    }
  }

  private func launchIsOver(_ id: SessionID, round: Int) {
    guard let session = sessions[id], session.isLaunched, session.launchRound == round else { return }
    sessions[id]?.isLaunched = false
    considerSession(id)
  }

  private func refuseLaunch(_ id: SessionID, _ reason: String) {
    sessions[id]?.launchRefusal = reason
    guard let session = sessions[id] else { return }
    log.warning(
      "session \(session.stored.identifier) waits for \(session.stored.executable.path) to be started: \(reason)")
  }

  /// The app says that it has handled the events it was started for. As long as it has not acknowledged them, too, that
  /// does not count: an app that says so and ends at once would otherwise be started without end and without a pause.
  func doneHandlingEvents(_ id: SessionID) throws {
    sessions[id]?.saysDone = true
    try considerDone(id)
  }

  func considerDone(_ id: SessionID) throws {
    guard sessions[id]?.saysDone ?? false, try store.eventCount(of: id) == 0 else { return }
    sessions[id]?.saysDone = false
    try forgetLaunches(id)
  }

  func forgetLaunches(_ id: SessionID) throws {
    guard let session = sessions[id], session.stored.launches > 0 else { return }
    try store.setLaunches(0, at: nil, of: id)
    sessions[id]?.stored.launches = 0
    sessions[id]?.stored.lastLaunch = nil
  }

  /// A session lost its holder.
  func release(_ id: SessionID) {
    sessions[id]?.holder = nil
    sessions[id]?.isDelivering = false
    sessions[id]?.willFinishEvents = false
    sessions[id]?.saysDone = false
    sessions[id]?.unacknowledged = []
    sessions[id]?.lastSent = 0
    considerSession(id)
  }
}
