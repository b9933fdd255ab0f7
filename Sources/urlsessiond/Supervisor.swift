import Foundation
import Logging
import ServiceLifecycle
import SystemServices
import TransferService

/// Keeps a service alive where no service manager does: starts a worker process that serves, and starts another one when
/// it crashes or hangs.
///
/// A worker that ends with status 0 has nothing left to do, and the supervisor ends too. When the next worker is started
/// says `RestartSchedule`; whether a worker hangs says `WorkerLiveness`. A request to end is passed on.
///
/// A process that needs the service and gets no answer starts another supervisor, which opens the lock of this one, or
/// another worker, which opens the lock of the queue. So an opening of these locks cuts a pause short and has the worker
/// asked for a sign of life. Where the kernel does not tell of it, pauses are shorter and a worker that rests is asked too.
actor Supervisor: Service {
  private enum Event {
    case said(WorkerLiveness.Event, by: pid_t)
    case ended(DetachedProcess.End, pid_t)
    case needed
    case tick(number: Int)
    case pauseEnded(number: Int)
    case shutdown
  }

  private enum Phase {
    case working(SupervisedWorker, WorkerLiveness)
    /// Until the next worker is started.
    case pausing
    case over
  }

  private let program: String
  private let arguments: [String]
  private let locks: [String]
  private let log: Logger
  private let clock = SystemClock()
  private let rules = TestTimes.shorten(WorkerLiveness.Rules())
  private let events: AsyncStream<Event>
  private nonisolated let happened: AsyncStream<Event>.Continuation

  private var phase = Phase.pausing
  private var schedule = RestartSchedule()
  private var ends = WorkerEnds()
  /// Whether the present worker hangs and was ended for that.
  private var hangs = false
  /// Those before the present worker; nil where it is not known.
  private var outOfMemoryKills: Int?
  private var isEnding = false
  /// nil when the kernel has no more of them for this user.
  private var watcher: PathWatcher?
  /// Whether `needed` comes when a lock is opened.
  private var isToldOfNeeds = false
  private var lastStart: BootInstant
  private var pauseEnd: BootInstant
  /// The number of the present timer; those before it count no more.
  private var timerNumber = 0
  private var timer: Task<Void, Never>?
  /// A pipe whose end tells the app that the service has started; nil when that was told.
  private var startReport: Int32?

  /// - Parameters:
  ///   - locks: files that a process opens when it tries to start the service.
  ///   - startReport: closed when the first worker serves.
  init(arguments: [String], locks: [String], startReport: Int32?, log: Logger) throws {
    program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    self.arguments = arguments
    self.locks = locks
    self.startReport = startReport
    self.log = log
    lastStart = clock.now
    pauseEnd = clock.now
    (events, happened) = AsyncStream.makeStream(of: Event.self)
  }

  func run() async throws {
    await withGracefulShutdownHandler {
      await supervise()
    } onGracefulShutdown: { [happened] in
      DefaultSignals.restore()
      happened.yield(.shutdown)
    }
  }

  private func supervise() async {
    startWorker()
    for await event in events {
      handle(event)
      if case .over = phase { break }
    }
    timer?.cancel()
  }

  private func handle(_ event: Event) {
    switch event {
    case .said(let sign, let pid):
      if case .working(let worker, _) = phase, worker.pid == pid { tell(sign) }
    case .ended(let end, let pid):
      if case .working(let worker, _) = phase, worker.pid == pid { workerEnded(end) }
    case .needed: needed()
    case .tick(let number):
      guard number == timerNumber, case .working(let worker, _) = phase else { return }
      timer = nil
      // An answer may have arrived while this process was stopped.
      for sign in worker.readSigns() { tell(WorkerLiveness.Event(sign)) }
      tell(.tick)
    case .pauseEnded(let number):
      if number == timerNumber, case .pausing = phase { startWorker() }
    case .shutdown:
      isEnding = true
      guard case .working(let worker, _) = phase else { return phase = .over }
      // Its end is then the supervisor's. One that hangs does not end, so it is asked.
      kill(worker.pid, SIGTERM)
      tell(.needed)
    }
  }

  // MARK: The worker

  private func startWorker() {
    lastStart = clock.now
    stopTimer()
    watchLocks()
    hangs = false
    ends.begin()
    outOfMemoryKills = OutOfMemoryKills.count()
    let arguments = self.arguments + (ends.last == .killed ? ["--after", WorkerEnd.killed.rawValue] : [])
    do {
      let worker = try SupervisedWorker(program: program, arguments: arguments) { [happened] sign, pid in
        happened.yield(.said(WorkerLiveness.Event(sign), by: pid))
      } ended: { [happened] end, pid in
        happened.yield(.ended(end, pid))
      }
      phase = .working(worker, WorkerLiveness(rules: rules, isToldOfNeeds: isToldOfNeeds))
      setTick()
    } catch {
      // Memory or processes may be short for a while, so this counts as a failed worker.
      log.error("the service could not be started: \(error)")
      workerEnded(.exited(EX_OSERR))
    }
  }

  private func workerEnded(_ end: DetachedProcess.End) {
    stopTimer()
    if isEnding || end == .exited(0) { return phase = .over }
    var isByItself = false
    var signal: Int32?
    switch end {
    case .exited: isByItself = true
    case .killed(let number): signal = number
    }
    ends.ended(signal: signal, hung: hangs, ranOutOfMemory: ranOutOfMemory())
    switch schedule.ended(byItself: isByItself, after: clock.now - lastStart, isToldOfNeeds: isToldOfNeeds) {
    case .giveUp:
      log.error("the service ended by itself too many times in a row (\(end)); it is not started again")
      phase = .over
    case .pause(let pause):
      log.error("the service ended (\(end)); starting it again in \(pause) s")
      phase = .pausing
      setPause(pause)
    }
  }

  /// Whether the kernel has ended a process of the group since the worker was started; nil where that is not known.
  private func ranOutOfMemory() -> Bool? {
    guard let before = outOfMemoryKills, let now = OutOfMemoryKills.count() else { return nil }
    return now > before
  }

  private func tell(_ event: WorkerLiveness.Event) {
    guard case .working(let worker, var liveness) = phase else { return }
    if event == .busy || event == .resting { serves() }
    liveness.isToldOfNeeds = isToldOfNeeds
    let action = liveness.handle(event)
    phase = .working(worker, liveness)
    switch action {
    case .ask: worker.ask()
    case .abort(let reason):
      log.error("the service hangs and is ended: \(reason)")
      hangs = true
      kill(worker.pid, SIGABRT)
    case .kill: kill(worker.pid, SIGKILL)
    case nil: break
    }
    if !liveness.needsTicks { stopTimer() } else if timer == nil { setTick() }
  }

  private func serves() {
    ends.serves()
    guard let report = startReport else { return }
    close(report)
    startReport = nil
    // The worker has made those that were missing.
    watchLocks()
    // This process only waits from now on.
    ProcessMemory.release()
  }

  // MARK: Needs

  private func watchLocks() {
    if watcher == nil {
      watcher = PathWatcher { [happened] in happened.yield(.needed) }
    }
    isToldOfNeeds = watcher?.watch(openingsOf: locks) ?? false
    guard !isToldOfNeeds else { return }
    log.warning(
      "the kernel has no more watchers for this user: fs.inotify.max_user_instances, fs.inotify.max_user_watches")
  }

  private func needed() {
    switch phase {
    case .working: tell(.needed)
    case .pausing:
      let pause = pauseEnd - clock.now
      let least = RestartSchedule.pause(whenNeeded: pause, sinceStart: clock.now - lastStart)
      if least < pause { setPause(least) }
    case .over: break
    }
  }

  // MARK: Timers

  private func stopTimer() {
    timer?.cancel()
    timer = nil
    timerNumber += 1
  }

  private func setPause(_ seconds: TimeInterval) {
    stopTimer()
    pauseEnd = clock.now + seconds
    timer = Task { [happened, timerNumber] in
      try? await Pause.wait(.seconds(seconds))
      happened.yield(.pauseEnded(number: timerNumber))
    }
  }

  private func setTick() {
    stopTimer()
    timer = Task { [happened, timerNumber, rules] in
      // This clock stands still while the machine sleeps.
      let clock = SuspendingClock()
      while !Task.isCancelled {
        let start = clock.now
        try? await Pause.wait(.seconds(rules.tick))
        // This process was stopped, perhaps together with the worker.
        if clock.now - start > .seconds(rules.tick * 1.5 + 1) { continue }
        happened.yield(.tick(number: timerNumber))
        return
      }
    }
  }
}

extension WorkerLiveness.Event {
  init(_ sign: SupervisedWorker.Sign) {
    self =
      switch sign {
      case .busy: .busy
      case .resting: .resting
      }
  }
}
