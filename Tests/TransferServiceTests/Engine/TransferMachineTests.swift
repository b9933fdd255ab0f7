import Foundation
import HTTPSemantics
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// The answers of a transfer's machine, state by state.
@Suite struct TransferMachineTests {
  typealias Machine = TransferMachine
  static let moment = Moment(now: BootInstant(nanoseconds: 1_000_000_000), date: Date(timeIntervalSince1970: 1_000))
  static let response = ResponseSummary(url: "http://h/", status: 200)
  static let failure = TransferFailure(domain: NSURLErrorDomain, code: -1, message: "broken")
  static let cancel = Machine.Event.cancelled(wantsResumePoint: false)
  static let file = Machine.ResumeImport(
    point: ResumePoint(path: "/f.resume", offset: 5, url: "http://h/"), validator: nil)
  static let start = Machine.Start(
    stored: StoredTransfer(
      head: StoredTransferHead(
        id: 1, session: 1, taskIdentifier: 1, state: .active, host: "h", priority: 0.5, committedOffset: 0,
        expectedTotal: -1, failures: 0),
      app: 1, sessionIdentifier: "s", description: .download("http://h/"), created: moment.date, isAcknowledged: false),
    remainingTime: 60)

  static func finished() -> Machine.Event { .runEnded(.finished(response, byteCount: 9), jitter: 0) }
  static func failed() -> Machine.Event { .runEnded(.failed(failure, response, received: 3), jitter: 0) }
  static func stopped() -> Machine.Event { .runEnded(.stopped(received: 3), jitter: 0) }
  static func retry(keeping count: Int64 = 0) -> Machine.Event {
    .runEnded(.retry(failure, kept: KeptBytes(count), received: count), jitter: 0)
  }
  static let refusal = PassingRefusal(status: 503, wait: 120)
  static func refused(_ refusal: PassingRefusal = refusal, keeping count: Int64 = 0) -> Machine.Event {
    .runEnded(.refused(refusal, kept: KeptBytes(count), received: 3), jitter: 0)
  }
  static func busy(_ seconds: TimeInterval, keepsBytes: Bool = false) -> Scheduler.Delay {
    .init(until: .instant(moment.now + seconds), reason: .serverBusy(status: 503, keepsBytes: keepsBytes))
  }
  static func needsApp() -> Machine.Event { .runEnded(.needsApp("Who?", received: 3), jitter: 0) }
  static func gone() -> Machine.Event {
    .runEnded(.storageUnavailable("Gone.", kept: KeptBytes(0), received: 3), jitter: 0)
  }
  static func away(_ seconds: TimeInterval) -> Scheduler.Delay {
    .init(until: .instant(moment.now + seconds), reason: .storageUnavailable(because: "Gone."))
  }
  static func noSpace() -> Machine.Event { .runEnded(.noSpace(needed: 7, available: 1), jitter: 0) }

  static func pause(_ seconds: TimeInterval, failures: Int) -> Scheduler.Delay {
    .init(until: .instant(moment.now + seconds), reason: .retry(because: "broken", failures: failures))
  }

  /// A machine after these events.
  static func machine(_ events: [Machine.Event]) -> Machine {
    var machine = Machine()
    for event in events { _ = machine.handle(event, at: moment) }
    return machine
  }

  /// Ways into each state.
  static let waiting: [Machine.Event] = [.resumed]
  static let running = waiting + [.chosen(.start(start))]
  static let asking = running + [needsApp()]
  static let importing: [Machine.Event] = [.resumeFileGiven(file, runs: true)]
  static let postponed = Machine.Event.importPostponed(.storageUnavailable(because: "Gone."))
  static let blockedFile = running + [finished(), .endNotWritten]

  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let before: [Machine.Event]
    let event: Machine.Event
    let state: Machine.State
    let actions: [Machine.Action]
    var testDescription: String { name }

    init(
      _ name: String, _ before: [Machine.Event], _ event: Machine.Event, _ state: Machine.State,
      _ actions: [Machine.Action]
    ) {
      self.name = name
      self.before = before
      self.event = event
      self.state = state
      self.actions = actions
    }
  }

  static let key = Scheduler.Delay(
    until: .instant(moment.now + 5), reason: .keychain(because: "The keychain is being read."))
  static let change = Scheduler.Delay(until: .instant(moment.now + 5), reason: .requestChange)
  static let locked = waiting + [.chosen(.held(key))]
  static let end = Machine.End.file(response, byteCount: 9)
  static let cancelled = Machine.End.cancelled(wantsResumePoint: false)

  static let rows: [Row] = [
    Row("a queued transfer waits for its turn", [], .queued(delay: nil), .waiting(nil), [.schedule(nil)]),
    Row("a resumed transfer waits for its turn", [], .resumed, .waiting(nil), [.schedule(nil), .announceState]),
    Row("its turn starts a run", waiting, .chosen(.start(start)), .running, [.run(start), .announceState]),
    Row(
      "a file is imported first", waiting, .chosen(.importFirst(file)), .importing(then: .wait),
      [.importResumeFile(file)]),
    Row(
      "a damaged record ends it", waiting, .chosen(.impossible(failure, nil)), .finishing(.failure(failure, nil)),
      [.unschedule, .writeEnd(.failure(failure, nil))]),
    Row(
      "a transfer that the queue does not have is dropped", waiting, .chosen(.unknown), .over,
      [.unschedule, .removeFiles, .retire]),
    Row(
      "an unreadable queue is read again later", waiting, .chosen(.held(away(5))), .waiting(away(5)),
      [.schedule(away(5)), .announceState]),
    Row("a network does not open a keychain", locked, .networkChanged, .waiting(key), []),
    Row("a key ends the wait for the keychain", locked, .readable, .waiting(nil), [.schedule(nil)]),
    Row(
      "a request that is written ends the wait for it", waiting + [.chosen(.held(change))], .readable, .waiting(nil),
      [.schedule(nil)]),
    Row("a key ends no wait for a server", running + [refused()], .readable, .waiting(busy(120)), []),
    Row("a turn that comes too late gives the slot back", [], .chosen(.start(start)), .suspended, [.unschedule]),

    Row("a finished run writes its end", running, finished(), .finishing(end), [.unschedule, .writeEnd(end)]),
    Row("a running one gives way to others", running, .gaveWay, .stopping(then: .wait), [.stopRunIfRepeatable]),
    Row(
      "it waits for its turn again", running + [.gaveWay], stopped(), .waiting(nil), [.schedule(nil), .announceState]),
    Row("a waiting one has nothing to give", waiting, .gaveWay, .waiting(nil), []),
    Row(
      "the time of a waiting one is over", waiting, .failed(failure, response), .finishing(.failure(failure, response)),
      [.unschedule, .writeEnd(.failure(failure, response))]),
    Row(
      "so is that of one that waits for its app", asking, .failed(failure, nil), .finishing(.failure(failure, nil)),
      [.unschedule, .writeEnd(.failure(failure, nil))]),
    Row("a run ends by itself in time", running, .failed(failure, nil), .running, []),
    Row(
      "a busy server is not asked earlier for a suspension", running + [refused(), .suspended], .resumed,
      .waiting(busy(120)), [.schedule(busy(120)), .announceState]),
    Row(
      "nor for one that began in an earlier life", [.wasToWait(busy(120))], .resumed, .waiting(busy(120)),
      [.schedule(busy(120)), .announceState]),
    Row(
      "another request may be made at once", running + [refused(), .suspended, .requestChanged], .resumed,
      .waiting(nil),
      [.schedule(nil), .announceState]),
    Row(
      "a wait after a failure ends with a suspension", running + [retry(), .suspended], .resumed, .waiting(nil),
      [.schedule(nil), .announceState]),
    Row(
      "a wait for a busy server is over once", running + [refused(), .suspended, .resumed, .triedNow, .suspended],
      .resumed,
      .waiting(nil), [.schedule(nil), .announceState]),
    Row("a suspended one rests", [], .failed(failure, nil), .suspended, []),
    Row(
      "a failed run writes its end", running, failed(), .finishing(.failure(failure, response)),
      [.unschedule, .writeEnd(.failure(failure, response))]),
    Row(
      "a first failure is tried again soon", running, retry(), .waiting(pause(0.2, failures: 1)),
      [
        .schedule(pause(0.2, failures: 1)), .saveRetry(failures: 1, because: "broken", at: moment.now + 0.2),
        .announceState,
      ]),
    Row(
      "a busy server is asked when it says", running, refused(), .waiting(busy(120)),
      [
        .schedule(busy(120)),
        .saveRetry(
          failures: 1, because: busy(120).reason.sentence, at: moment.now + 120,
          .busyServer(status: 503, keepsBytes: false)), .announceState,
      ]),
    Row(
      "a busy server that is asked for the rest is told apart", running, refused(keeping: 5),
      .waiting(busy(120, keepsBytes: true)),
      [
        .schedule(busy(120, keepsBytes: true)),
        .saveRetry(
          failures: 1, because: busy(120, keepsBytes: true).reason.sentence, at: moment.now + 120,
          .busyServer(status: 503, keepsBytes: true)),
        .announceState,
      ]),
    Row(
      "a busy server that does not say is asked after growing waits",
      running + [refused(), .resumed, .chosen(.start(start))], refused(PassingRefusal(status: 503)),
      .waiting(busy(2)),
      [
        .schedule(busy(2)),
        .saveRetry(
          failures: 2, because: busy(2).reason.sentence, at: moment.now + 2,
          .busyServer(status: 503, keepsBytes: false)),
        .announceState,
      ]),
    Row(
      "a network is no reason to ask a busy server sooner", running + [refused()], .networkChanged,
      .waiting(busy(120)), []),
    Row(
      "a suspended one whose server is busy rests", running + [.suspended], refused(), .suspended,
      [.unschedule, .announceState]),
    Row(
      "a full disk is looked at again after 30 s", running, noSpace(),
      .waiting(.init(until: .instant(moment.now + 30), reason: .noSpace(needed: 7, available: 1))),
      [.schedule(.init(until: .instant(moment.now + 30), reason: .noSpace(needed: 7, available: 1))), .announceState]),
    Row(
      "a disk that is full still is looked at again, without a run", running + [noSpace()],
      .chosen(.noSpace(needed: 7, available: 2)),
      .waiting(.init(until: .instant(moment.now + 30), reason: .noSpace(needed: 7, available: 2))),
      [.schedule(.init(until: .instant(moment.now + 30), reason: .noSpace(needed: 7, available: 2))), .announceState]),
    Row(
      "a broken disk is no end", running, gone(), .waiting(away(0.2)),
      [.schedule(away(0.2)), .saveRetry(failures: 1, because: "Gone.", at: moment.now + 0.2, .storage), .announceState]),
    Row(
      "a file that alone is broken is tried after growing waits",
      running + [gone(), .chosen(.start(start)), gone(), .chosen(.start(start))], gone(), .waiting(away(2)),
      [.schedule(away(2)), .saveRetry(failures: 3, because: "Gone.", at: moment.now + 2, .storage), .announceState]),
    Row("a network does not mend a disk", running + [gone()], .networkChanged, .waiting(away(0.2)), []),
    Row(
      "a suspended one whose disk is broken rests", running + [.suspended], gone(), .suspended,
      [.unschedule, .announceState]),
    Row("a written file retires it", running + [finished()], .endWritten, .over, [.retire]),
    Row("a written failure removes its files", running + [failed()], .endWritten, .over, [.removeFiles, .retire]),
    Row("an end that is not written waits", running + [finished()], .endNotWritten, .blocked(end), [.setStorageTimer]),
    Row("and is written again", blockedFile, .storageTimerFired, .finishing(end), [.writeEnd(end)]),

    Row(
      "suspending a waiting one takes it from the scheduler", waiting, .suspended, .suspended,
      [.unschedule, .announceState]),
    Row(
      "suspending a running one stops it", running, .suspended, .stopping(then: .suspend),
      [.stopRunIfRepeatable, .announceState]),
    Row(
      "resuming before it stopped lets it wait", running + [.suspended], .resumed, .stopping(then: .wait),
      [.announceState]),
    Row(
      "it does not stop twice", running + [.suspended, .resumed], .suspended, .stopping(then: .suspend),
      [.announceState]),
    Row(
      "a suspended one that stopped rests", running + [.suspended], stopped(), .suspended,
      [.unschedule, .announceState]),
    Row(
      "a suspended one that failed for a while rests", running + [.suspended], retry(), .suspended,
      [.unschedule, .announceState]),
    Row(
      "a suspended one that was complete is over", running + [.suspended], finished(), .finishing(end),
      [.unschedule, .writeEnd(end)]),
    Row(
      "a cancellation ends one that does not stop for a suspension", running + [.suspended], cancel,
      .stopping(then: .cancel(wantsResumePoint: false)), [.stopRun]),
    Row(
      "and does so once", running + [.suspended, cancel], cancel,
      .stopping(then: .cancel(wantsResumePoint: false)), []),
    Row(
      "so does the end of its session", running + [.conditionsWorsened], .discarded, .stopping(then: .discard),
      [.stopRun]),
    Row(
      "so does the end of the service, after which it rests", running + [.suspended], .serviceEnds,
      .stopping(then: .suspend), [.stopRun]),
    Row(
      "one that does not stop for the conditions is suspended at its end", running + [.conditionsWorsened], .suspended,
      .stopping(then: .suspend), [.announceState]),
    Row(
      "a resumed one that did not stop is over with its file", running + [.suspended, .resumed], finished(),
      .finishing(end), [.unschedule, .writeEnd(end)]),
    Row(
      "a resumed one that stopped waits", running + [.suspended, .resumed], stopped(), .waiting(nil),
      [.schedule(nil), .announceState]),
    Row(
      "one whose server asks the app waits for the app", running, needsApp(), .waitingForApp("Who?"),
      [.unschedule, .announceState]),
    Row(
      "one that waits for the app runs when the app is ready", asking, .appIsReady, .waiting(nil),
      [.schedule(nil), .announceState]),
    Row("an app that is ready disturbs no run", running, .appIsReady, .running, []),
    Row("one that waits for the app can be suspended", asking, .suspended, .suspended, [.announceState]),
    Row(
      "one that waits for the app can be cancelled", asking, cancel, .finishing(cancelled),
      [.unschedule, .writeEnd(cancelled)]),
    Row("a network does not help one that waits for the app", asking, .networkChanged, .waitingForApp("Who?"), []),
    Row(
      "a suspended one whose server asks rests", running + [.suspended], needsApp(), .suspended,
      [.unschedule, .announceState]),
    Row("suspending does not touch an end that is being written", blockedFile, .suspended, .blocked(end), []),
    Row("resuming does not start what is over", blockedFile, .resumed, .blocked(end), []),

    Row("cancelling a suspended one ends it", [], cancel, .finishing(cancelled), [.unschedule, .writeEnd(cancelled)]),
    Row(
      "cancelling a running one stops it", running, cancel, .stopping(then: .cancel(wantsResumePoint: false)),
      [.stopRun]),
    Row(
      "the second cancellation may ask for the resume point", running + [cancel],
      .cancelled(wantsResumePoint: true), .stopping(then: .cancel(wantsResumePoint: true)), []),
    Row(
      "a cancelled one that stopped is over", running + [cancel], stopped(), .finishing(cancelled),
      [.unschedule, .writeEnd(cancelled)]),
    Row(
      "a cancelled one delivers no file", running + [cancel], finished(), .finishing(cancelled),
      [.unschedule, .writeEnd(cancelled)]),
    Row("a cancellation wins over an end that is not written", blockedFile, cancel, .blocked(cancelled), []),
    Row(
      "a cancellation comes too late for an end that is being written", running + [finished()], cancel,
      .finishing(end), []),
    Row(
      "but counts where that end is not written", running + [finished(), cancel], .endNotWritten, .blocked(cancelled),
      [.setStorageTimer]),
    Row(
      "resuming does not undo a cancellation", running + [cancel], .resumed,
      .stopping(then: .cancel(wantsResumePoint: false)), []),

    Row("an import is not interrupted", importing, cancel, .importing(then: .cancel(wantsResumePoint: false)), []),
    Row("after the import it waits", importing, .importEnded, .waiting(nil), [.schedule(nil), .announceState]),
    Row(
      "after the import a suspended one rests", importing + [.suspended], .importEnded, .suspended,
      [.unschedule, .announceState]),
    Row(
      "after the import a cancelled one is over", importing + [cancel], .importEnded, .finishing(cancelled),
      [.unschedule, .writeEnd(cancelled)]),

    Row(
      "an import that can't be made now is made later", importing, postponed, .waiting(away(30)),
      [.schedule(away(30)), .announceState]),
    Row(
      "its turn makes it again", importing + [postponed], .chosen(.importFirst(file)), .importing(then: .wait),
      [.importResumeFile(file)]),
    Row(
      "a suspended one does not wait for its import", importing + [.suspended], postponed, .suspended,
      [.unschedule, .announceState]),
    Row(
      "a cancelled one is over without its import", importing + [cancel], postponed, .finishing(cancelled),
      [.unschedule, .writeEnd(cancelled)]),
    Row("an import is postponed only while it is made", waiting, postponed, .waiting(nil), []),

    Row("a discarded one leaves at once", waiting, .discarded, .over, [.unschedule, .removeFiles, .retire]),
    Row("a discarded run is stopped first", running, .discarded, .stopping(then: .discard), [.stopRun]),
    Row(
      "and leaves without an event", running + [.discarded], finished(), .over,
      [.unschedule, .removeFiles, .retire]),
    Row(
      "a discarded one takes its timer along", blockedFile, .discarded, .over,
      [.cancelStorageTimer, .unschedule, .removeFiles, .retire]),
    Row(
      "cancelling does not bring a discarded one back", running + [.discarded], cancel, .stopping(then: .discard), []),

    Row("the end of the service stops a run", running, .serviceEnds, .stopping(then: .wait), [.stopRun]),
    Row("and nothing else", waiting, .serviceEnds, .waiting(nil), []),
    Row("a network ends the wait for a retry", running + [retry()], .networkChanged, .waiting(nil), [.schedule(nil)]),
    Row(
      "a network does not empty the disk", running + [noSpace()], .networkChanged,
      .waiting(.init(until: .instant(moment.now + 30), reason: .noSpace(needed: 7, available: 1))), []),
    Row(
      "progress ends the count of failures", running + [retry(), .networkChanged, .chosen(.start(start))],
      .progressed(KeptBytes(KeptBytes.enough)), .running, [.forgetFailures]),
    Row(
      "a few bytes do not", running + [retry(), .networkChanged, .chosen(.start(start))], .progressed(KeptBytes(9)),
      .running, []),
    Row(
      "nor do bytes that came before",
      running + [retry(keeping: KeptBytes.enough), .networkChanged, .chosen(.start(start))],
      .progressed(KeptBytes(KeptBytes.enough)), .running, []),
    Row("no failures, nothing to forget", running, .progressed(KeptBytes(KeptBytes.enough)), .running, []),
    Row("over is over", running + [finished(), .endWritten], .resumed, .over, []),
  ]

  @Test(arguments: rows) func answers(row: Row) {
    var machine = Self.machine(row.before)
    let actions = machine.handle(row.event, at: Self.moment)
    #expect(machine.state == row.state)
    #expect(actions == row.actions)
  }

  @Test func failuresCountUntilThereIsProgress() {
    var machine = Self.machine(Self.running)
    for failures in 1...3 {
      _ = machine.handle(Self.retry(), at: Self.moment)
      #expect(machine.failures == failures)
      _ = machine.handle(.networkChanged, at: Self.moment)
      _ = machine.handle(.chosen(.start(Self.start)), at: Self.moment)
    }
    _ = machine.handle(Self.retry(keeping: KeptBytes.enough), at: Self.moment)
    #expect(machine.failures == 1)
  }

  /// An hour without a network takes nothing from the patience with a captive portal.
  @Test func doubtfulFailuresAreCountedByThemselves() {
    let doubtful = TransferFailure(
      domain: NSURLErrorDomain, code: URLError.Code.serverCertificateUntrusted.rawValue, message: "broken")
    func retry(_ failure: TransferFailure, keeping count: Int64 = 0) -> Machine.Event {
      .runEnded(.retry(failure, kept: KeptBytes(count), received: count), jitter: 0)
    }
    var machine = Self.machine(Self.running)
    let ends: [(Machine.Event, failures: Int, doubtful: Int)] = [
      (retry(Self.failure), 1, 0), (retry(doubtful), 2, 1), (retry(doubtful), 3, 2), (retry(Self.failure), 4, 0),
      (retry(doubtful), 5, 1), (Self.refused(), 6, 0), (retry(doubtful), 7, 1),
      (retry(doubtful, keeping: KeptBytes.enough), 1, 1),
    ]
    for (end, failures, doubtful) in ends {
      _ = machine.handle(end, at: Self.moment)
      #expect(machine.failures == failures && machine.doubtfulFailures == doubtful)
      _ = machine.handle(.triedNow, at: Self.moment)
      _ = machine.handle(.chosen(.start(Self.start)), at: Self.moment)
    }
    _ = machine.handle(.progressed(KeptBytes(1 << 20)), at: Self.moment)
    #expect(machine.failures == 0 && machine.doubtfulFailures == 0)
  }

  struct Cuts: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// How many bytes are kept after each try, by its number from 1 on.
    let kept: @Sendable (Int64) -> KeptBytes
    /// The failures in a row after each of the first tries.
    let failures: [Int]
  }

  static let cuts: [Cuts] = [
    Cuts(testDescription: "before the first byte", kept: { _ in KeptBytes(0) }, failures: [1, 2, 3, 4, 5, 6]),
    Cuts(testDescription: "after one byte more", kept: { KeptBytes($0) }, failures: [1, 2, 3, 4, 5, 6]),
    Cuts(
      testDescription: "after the same bytes each time", kept: { _ in KeptBytes(5 << 20, of: 9 << 20) },
      failures: [1, 2, 3, 4, 5, 6]),
    Cuts(
      testDescription: "alternately early and late", kept: { KeptBytes($0 % 2 == 0 ? 6 << 20 : 5 << 20) },
      failures: [1, 1, 2, 3, 4, 5]),
    Cuts(testDescription: "after enough more", kept: { KeptBytes($0 << 20) }, failures: [1, 1, 1, 1, 1, 1]),
    Cuts(
      testDescription: "after a little more, which adds up", kept: { KeptBytes($0 * (100 << 10)) },
      failures: [1, 2, 1, 2, 3, 1]),
  ]

  @Test(arguments: cuts) func aServerThatAlwaysCutsIsAskedMoreRarelyUnlessBytesStay(row: Cuts) {
    var machine = Self.machine(Self.waiting)
    let failures = (1...Int64(row.failures.count)).map { number in
      _ = machine.handle(.chosen(.start(Self.start)), at: Self.moment)
      let outcome = DownloadOutcome.retry(Self.failure, kept: row.kept(number), received: 0)
      _ = machine.handle(.runEnded(outcome, jitter: 0), at: Self.moment)
      let delay = Self.pause(RetryRule.delay(afterFailures: machine.failures, jitter: 0), failures: machine.failures)
      #expect(machine.state == .waiting(delay))
      return machine.failures
    }
    #expect(failures == row.failures)
  }

  @Test func whatAnEarlierLifeOfTheServiceKeptCountsAsOld() {
    var machine = Machine(failures: 3, countedBytes: 1 << 20)
    for event in Self.running { _ = machine.handle(event, at: Self.moment) }
    _ = machine.handle(Self.retry(keeping: 1 << 20), at: Self.moment)
    #expect(machine.failures == 4)
  }

  @Test func waitsForTheLaterOfTheDateAndTheNextTry() {
    let date = Self.moment.date + 10
    let earliest = Scheduler.Delay(until: .date(date), reason: .earliestBegin(date))
    var machine = Machine(failures: 2, earliestBegin: date)
    #expect(machine.handle(.queued(delay: Self.pause(5, failures: 2)), at: Self.moment) == [.schedule(earliest)])
    // The date passes by; the next try was kept.
    #expect(
      machine.handle(.earliestBeginChanged(Self.moment.date - 1), at: Self.moment)
        == [.schedule(Self.pause(5, failures: 2))])
    #expect(machine.handle(.earliestBeginChanged(date), at: Self.moment) == [.schedule(earliest)])
    // A network does not bring the date forward.
    #expect(machine.handle(.networkChanged, at: Self.moment) == [.schedule(earliest)])
    var later = Self.moment
    later.date = date
    #expect(machine.handle(.earliestBeginChanged(date), at: later) == [.schedule(nil)])
  }

  @Test func importsTheFileOnce() {
    var machine = Self.machine(Self.importing + [.importEnded])
    #expect(machine.resumeFile == .tried)
    #expect(machine.handle(.resumeFileGiven(Self.file, runs: true), at: Self.moment) == [])
    #expect(Self.machine(Self.importing + [Self.postponed]).resumeFile == .untried)
  }
}
