import Foundation
import SystemServices
import TransferProtocol

/// The life of one transfer as a value: events go in, actions come out. It reads no clock, no file and no queue: the
/// events carry the time and the records, and `TransferEngine` performs the actions.
///
///     suspended ⇄ waiting → running → finishing → over
///
/// The other states:
/// - `importing`: the file that the app gave is looked at and copied, which ends by itself, at last when its file system does
///   not answer for a while. `stopping`: a run was told to
///   stop and has not stopped yet, or goes on to its end since its request can't be made again. Both carry the next step; a
///   later request replaces it.
/// - `waitingForApp`: a server asks something that only the app can answer, and no process holds the session. It runs
///   again when one does.
/// - `blocked`: the end could not be written to the queue; it is tried again after a while.
///
/// A transfer leaves `finishing` only when its end is in the queue, and it ends once. After a cancellation its end is
/// always `cancelled`, also when the last byte had arrived before the run stopped.
struct TransferMachine: Sendable, Equatable {
  enum State: Sendable, Equatable {
    case suspended
    /// In the scheduler's hands. The delay is that of a retry or of a full disk; nil when there is none.
    case waiting(Scheduler.Delay?)
    /// The sentence says why.
    case waitingForApp(String)
    case importing(then: Continuation)
    case running
    case stopping(then: Continuation)
    case finishing(End)
    case blocked(End)
    case over
  }

  private(set) var state = State.suspended
  private(set) var hold: Hold?
  private(set) var resumeFile = ResumeFile.untried
  /// Failed tries in a row since the last progress.
  private(set) var failures: Int
  /// How many tries in a row failed so that it may or may not pass (`RetryRule.isDoubtful`). Counted anew by each life of the
  /// service.
  private(set) var doubtfulFailures = 0
  /// How many bytes have counted as progress, the first ones of the file. It is never less again, so that bytes that were
  /// dropped and come once more do not count twice.
  private(set) var countedBytes: Int64
  private(set) var earliestBegin: Date?
  /// The wait for a busy server that a suspension or a pause has interrupted: the server is asked no earlier for it.
  private var busyServer: Scheduler.Delay?
  /// The waits after failures.
  private var pauses = RetryPauses()
  /// The run was asked to stop only where its request may be made again.
  private var mayRunOn = false
  /// A cancellation that came while the end was being written, and whether it wants the resume point.
  private(set) var lateCancellation: Bool?

  init(failures: Int = 0, earliestBegin: Date? = nil, countedBytes: Int64 = 0, hold: Hold? = nil) {
    self.failures = failures
    self.countedBytes = countedBytes
    self.earliestBegin = earliestBegin
    self.hold = hold
  }

  /// - Parameter moment: the time at which the event is handled.
  mutating func handle(_ event: Event, at moment: Moment) -> [Action] {
    switch event {
    case .queued(let delay): queued(delay, at: moment)
    case .wasToWait(let delay): wasToWait(delay)
    case .resumeFileGiven(let file, let runs): resumeFileGiven(file, runs: runs)
    case .resumed: resumed(at: moment)
    case .suspended: suspended()
    case .cancelled(let wantsResumePoint): cancelled(wantsResumePoint: wantsResumePoint)
    case .discarded: discarded()
    case .serviceEnds: serviceEnds()
    case .gaveWay: interrupted()
    case .failed(let failure, let response): failed(failure, response)
    case .earliestBeginChanged(let date): earliestBeginChanged(date, at: moment)
    case .delayedRequestSettled: isHeldByQuestion ? wait(nil, at: moment) : []
    case .unfitToBegin(let failure): unfitToBegin(failure)
    case .networkChanged: networkChanged(at: moment)
    case .readable: isHeldByReading ? wait(nil, at: moment) : []
    case .roomFound: neededSpace == 0 ? wait(nil, at: moment) : []
    case .conditionsChanged: isHeldByConditions ? wait(nil, at: moment) : []
    // It keeps what it has, and is held when its turn comes.
    case .conditionsWorsened: interrupted()
    case .chosen(let readiness): chosen(readiness, at: moment)
    case .importEnded: importEnded(at: moment)
    case .importPostponed(let reason): importPostponed(reason, at: moment)
    case .progressed(let kept): progressed(kept)
    case .appIsReady: appIsReady(at: moment)
    case .runEnded(let outcome, let jitter): runEnded(outcome, jitter: jitter, at: moment)
    case .endWritten: endWritten()
    case .endNotWritten: endNotWritten()
    case .storageTimerFired: storageTimerFired()
    case .held: held()
    case .holdEnded: holdEnded(at: moment)
    case .triedNow: triedNow(at: moment)
    case .requestChanged: requestChanged(at: moment)
    }
  }

  private mutating func queued(_ delay: Scheduler.Delay?, at moment: Moment) -> [Action] {
    guard state == .suspended else { return [] }
    return wait(delay, at: moment)
  }

  private mutating func wasToWait(_ delay: Scheduler.Delay?) -> [Action] {
    if state == .suspended, case .serverBusy? = delay?.reason { busyServer = delay }
    return []
  }

  private mutating func resumeFileGiven(_ file: ResumeImport, runs: Bool) -> [Action] {
    guard state == .suspended, resumeFile == .untried else { return [] }
    resumeFile = .tried
    state = .importing(then: runs ? .wait : .suspend)
    return [.importResumeFile(file)]
  }

  private mutating func resumed(at moment: Moment) -> [Action] {
    if let hold, hold.isSetAside, !hold.goesOn { self.hold = nil }
    guard hold == nil else { return noteForAfterHold(goesOn: true) }
    switch state {
    case .suspended: return wait(busyServer, at: moment) + [.announceState]
    case .importing(then: .suspend): state = .importing(then: .wait)
    case .stopping(then: .suspend): state = .stopping(then: .wait)
    default: return []
    }
    return [.announceState]
  }

  private mutating func suspended() -> [Action] {
    guard hold == nil else { return noteForAfterHold(goesOn: false) }
    switch state {
    case .waiting(let delay):
      state = .suspended
      return wasToWait(delay) + [.unschedule, .announceState]
    case .waitingForApp: state = .suspended
    case .running: return [askRunToStop(then: .suspend), .announceState]
    case .importing(then: .wait): state = .importing(then: .suspend)
    case .stopping(then: .wait): state = .stopping(then: .suspend)
    default: return []
    }
    return [.announceState]
  }

  /// While the user pauses it, a state that the app asks for is kept, and taken when the pause ends.
  private mutating func noteForAfterHold(goesOn: Bool) -> [Action] {
    guard rests, hold?.goesOn != goesOn else { return [] }
    hold?.goesOn = goesOn
    return [.announceState]
  }

  private mutating func held() -> [Action] {
    guard canHold else { return [] }
    if let hold {
      self.hold = Hold(goesOn: hold.goesOn)
      return [.announceState]
    }
    let goesOn = !rests
    let actions = goesOn ? suspended() : [.announceState]
    hold = Hold(goesOn: goesOn)
    return actions
  }

  private mutating func holdEnded(at moment: Moment) -> [Action] {
    guard let hold else { return [] }
    self.hold = nil
    return hold.goesOn ? resumed(at: moment) : [.announceState]
  }

  private mutating func triedNow(at moment: Moment) -> [Action] {
    guard case .waiting(_?) = state else { return [] }
    return wait(nil, at: moment) + [.announceState]
  }

  /// A run goes on with the new request; a wait for something that the former one met is over.
  private mutating func requestChanged(at moment: Moment) -> [Action] {
    switch state {
    case .running: return [askRunToStop(then: .wait)]
    case .waiting, .waitingForApp: return wait(nil, at: moment) + [.announceState]
    case .suspended:
      busyServer = nil
      return []
    default: return []
    }
  }

  private mutating func cancelled(wantsResumePoint: Bool) -> [Action] {
    switch state {
    case .suspended, .waiting, .waitingForApp: return finish(.cancelled(wantsResumePoint: wantsResumePoint))
    case .running:
      state = .stopping(then: .cancel(wantsResumePoint: wantsResumePoint))
      return [.stopRun]
    case .importing(let continuation):
      state = .importing(then: continuation.cancelled(wantsResumePoint: wantsResumePoint))
    case .stopping(let continuation):
      state = .stopping(then: continuation.cancelled(wantsResumePoint: wantsResumePoint))
      return stopRunThatMayRunOn()
    case .blocked(.cancelled(let wanted)):
      state = .blocked(.cancelled(wantsResumePoint: wanted || wantsResumePoint))
    // The end is not in the queue, so it can still be another one. It is written when the queue is tried again.
    case .blocked: state = .blocked(.cancelled(wantsResumePoint: wantsResumePoint))
    case .finishing(.cancelled): break
    // It counts where that end can't be written, or has not been told.
    case .finishing: lateCancellation = lateCancellation ?? false || wantsResumePoint
    case .over: break
    }
    return []
  }

  private mutating func discarded() -> [Action] {
    switch state {
    case .suspended, .waiting, .waitingForApp, .finishing: return endWithoutEvents()
    case .running:
      state = .stopping(then: .discard)
      return [.stopRun]
    case .importing: state = .importing(then: .discard)
    case .stopping:
      state = .stopping(then: .discard)
      return stopRunThatMayRunOn()
    case .blocked: return [.cancelStorageTimer] + endWithoutEvents()
    case .over: break
    }
    return []
  }

  private mutating func interrupted() -> [Action] { state == .running ? [askRunToStop(then: .wait)] : [] }

  private mutating func serviceEnds() -> [Action] {
    switch state {
    case .running:
      state = .stopping(then: .wait)
      return [.stopRun]
    case .stopping: return stopRunThatMayRunOn()
    default: return []
    }
  }

  private mutating func askRunToStop(then continuation: Continuation) -> Action {
    (state, mayRunOn) = (.stopping(then: continuation), true)
    return .stopRunIfRepeatable
  }

  private mutating func stopRunThatMayRunOn() -> [Action] {
    defer { mayRunOn = false }
    return mayRunOn ? [.stopRun] : []
  }

  private mutating func failed(_ failure: TransferFailure, _ response: ResponseSummary?) -> [Action] {
    mayRunOutOfTime ? finish(.failure(failure, response)) : []
  }

  private mutating func unfitToBegin(_ failure: TransferFailure) -> [Action] {
    switch state {
    case .suspended, .waiting: finish(.failure(failure, nil))
    // It has begun, or ends.
    case .waitingForApp, .importing, .running, .stopping, .finishing, .blocked, .over: []
    }
  }

  private mutating func earliestBeginChanged(_ date: Date?, at moment: Moment) -> [Action] {
    earliestBegin = date
    guard case .waiting(let delay) = state else { return [] }
    return wait(delay, at: moment)
  }

  /// Ends the delay of a retry: what failed for want of a network is tried again now.
  private mutating func networkChanged(at moment: Moment) -> [Action] {
    guard case .waiting(let delay?) = state, case .retry = delay.reason else { return [] }
    return wait(nil, at: moment)
  }

  private mutating func chosen(_ readiness: Readiness, at moment: Moment) -> [Action] {
    switch state {
    case .waiting: break
    // The slot that it holds is that of its run.
    case .importing, .running, .stopping: return []
    case .suspended, .waitingForApp, .finishing, .blocked, .over: return [.unschedule]
    }
    switch readiness {
    case .start(let start):
      (state, mayRunOn) = (.running, false)
      pauses = start.pauses
      return [.run(start), .announceState]
    case .importFirst(let file):
      resumeFile = .tried
      state = .importing(then: .wait)
      return [.importResumeFile(file)]
    case .impossible(let failure, let response): return finish(.failure(failure, response))
    case .held(let delay): return wait(delay, at: moment) + [.announceState]
    case .unknown: return endWithoutEvents()
    case .noSpace(let needed, let available): return waitForSpace(needed: needed, available: available, at: moment)
    case .overQuota(let shortage): return waitForStorage(shortage.reason, at: moment)
    }
  }

  private mutating func importEnded(at moment: Moment) -> [Action] {
    guard case .importing(let continuation) = state else { return [] }
    return proceed(continuation, at: moment)
  }

  private mutating func importPostponed(_ reason: WaitingReason, at moment: Moment) -> [Action] {
    guard case .importing(let continuation) = state else { return [] }
    resumeFile = .untried
    guard continuation == .wait else { return proceed(continuation, at: moment) }
    return waitForStorage(reason, at: moment)
  }

  private mutating func progressed(_ kept: KeptBytes) -> [Action] {
    guard isBusy, count(kept), failures > 0 else { return [] }
    (failures, doubtfulFailures) = (0, 0)
    return [.forgetFailures]
  }

  /// Whether they are progress.
  private mutating func count(_ kept: KeptBytes) -> Bool {
    guard kept.areProgress(beyond: countedBytes) else { return false }
    countedBytes = kept.count
    return true
  }

  private mutating func appIsReady(at moment: Moment) -> [Action] {
    guard needsApp else { return [] }
    return wait(nil, at: moment) + [.announceState]
  }

  private mutating func runEnded(_ outcome: DownloadOutcome, jitter: Double, at moment: Moment) -> [Action] {
    let continuation: Continuation
    switch state {
    case .running: continuation = .wait
    case .stopping(let then): continuation = then
    default: return []
    }
    switch continuation {
    case .cancel, .discard: return proceed(continuation, at: moment)
    case .wait, .suspend: break
    }
    switch outcome {
    case .finished(let response, let count): return finish(.file(response, byteCount: count))
    case .failed(let failure, let response, _): return finish(.failure(failure, response))
    // Counted also where it is the storage: it may be the transfer's own file that can't be used, while the folders can.
    case .retry(_, let kept, _), .refused(_, let kept, _), .storageUnavailable(_, let kept, _):
      if count(kept) { (failures, doubtfulFailures) = (0, 0) }
      failures += 1
      doubtfulFailures = outcome.isDoubtful ? doubtfulFailures + 1 : 0
    case .needsApp, .noSpace, .stopped: break
    }
    guard continuation == .wait else { return proceed(continuation, at: moment) }
    return waitAfterRun(outcome, jitter: jitter, at: moment)
  }

  /// The wait of a transfer that is to run again. The failure of the run has been counted.
  private mutating func waitAfterRun(_ outcome: DownloadOutcome, jitter: Double, at moment: Moment) -> [Action] {
    let usual = RetryRule.delay(afterFailures: failures, jitter: jitter)
    switch outcome {
    case .retry(let failure, _, _):
      let pause = pauses.delay(afterFailures: failures, usual: usual, jitter: jitter)
      let reason = WaitingReason.retry(because: failure.message, failures: failures)
      return tryAgain(after: pause, reason, because: failure.message, at: moment)
    case .refused(let refusal, let kept, _):
      let pause = RetryRule.delay(after: refusal, failures: failures, pauses: pauses, jitter: jitter)
      let reason = WaitingReason.serverBusy(status: refusal.status, keepsBytes: kept.count > 0)
      return tryAgain(after: pause, reason, because: reason.sentence, at: moment)
    case .storageUnavailable(let sentence, _, _):
      return tryAgain(after: usual, .storageUnavailable(because: sentence), because: sentence, at: moment)
    case .needsApp(let sentence, _):
      state = .waitingForApp(sentence)
      return [.unschedule, .announceState]
    case .noSpace(let needed, let available):
      return waitForSpace(needed: needed, available: available, at: moment)
    case .finished, .failed, .stopped: return proceed(.wait, at: moment)
    }
  }

  private mutating func tryAgain(
    after pause: TimeInterval, _ reason: WaitingReason, because cause: String, at moment: Moment
  ) -> [Action] {
    let instant = moment.now + pause
    return wait(.init(until: .instant(instant), reason: reason), at: moment) + [
      .saveRetry(failures: failures, because: cause, at: instant, PlannedTry.Kind(reason)), .announceState,
    ]
  }

  /// Seconds after which a full disk is looked at again, and an import that was postponed is made.
  private static let storageCheck: TimeInterval = 30

  private mutating func endWritten() -> [Action] {
    guard case .finishing(let end) = state else { return [] }
    state = .over
    if case .file = end { return [.retire] }
    return [.removeFiles, .retire]
  }

  private mutating func endNotWritten() -> [Action] {
    guard case .finishing(let end) = state else { return [] }
    state = .blocked(end)
    if let wantsResumePoint = lateCancellation { _ = cancelled(wantsResumePoint: wantsResumePoint) }
    lateCancellation = nil
    return [.setStorageTimer]
  }

  private mutating func storageTimerFired() -> [Action] {
    guard case .blocked(let end) = state else { return [] }
    state = .finishing(end)
    return [.writeEnd(end)]
  }

  // MARK: Common endings of events

  private mutating func waitForSpace(needed: Int64, available: Int64, at moment: Moment) -> [Action] {
    waitForStorage(.noSpace(needed: needed, available: available), at: moment)
  }

  private mutating func waitForStorage(_ reason: WaitingReason, at moment: Moment) -> [Action] {
    wait(.init(until: .instant(moment.now + Self.storageCheck), reason: reason), at: moment) + [.announceState]
  }

  private mutating func proceed(_ continuation: Continuation, at moment: Moment) -> [Action] {
    switch continuation {
    case .wait: return wait(nil, at: moment) + [.announceState]
    case .suspend:
      state = .suspended
      return [.unschedule, .announceState]
    case .cancel(let wantsResumePoint): return finish(.cancelled(wantsResumePoint: wantsResumePoint))
    case .discard: return endWithoutEvents()
    }
  }

  private mutating func finish(_ end: End) -> [Action] {
    state = .finishing(end)
    return [.unschedule, .writeEnd(end)]
  }

  private mutating func endWithoutEvents() -> [Action] {
    state = .over
    return [.unschedule, .removeFiles, .retire]
  }

  /// Waits for `delay` or for the earliest date that the app chose, whichever is later.
  private mutating func wait(_ delay: Scheduler.Delay?, at moment: Moment) -> [Action] {
    state = .waiting(delay)
    busyServer = nil
    func remaining(_ delay: Scheduler.Delay?) -> TimeInterval {
      delay?.remaining(now: moment.now, date: moment.date) ?? 0
    }
    let date = earliestBegin.map { Scheduler.Delay(until: .date($0), reason: .earliestBegin($0)) }
    let later = remaining(date) > remaining(delay) ? date : delay
    return [.schedule(remaining(later) > 0 ? later : nil)]
  }
}
