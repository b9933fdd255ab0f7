import DequeModule
import Dispatch
import Foundation
import Logging
import Synchronization
import SystemServices
import TransferProtocol

/// Owns all state of the service: connections, sessions, transfers, and what runs. Confined to its serial queue.
///
/// `TransferMachine` and `SessionMachine` decide what happens to a transfer and to a session; the engine feeds them
/// events and performs their actions. One call from outside is one turn: the call's own work, then the events that
/// it and the actions posted, in order, until none is left. The reply to a request is sent before the posted events
/// are handled, so pushes about a task follow the reply that created it.
///
/// Only reading the database and single system calls on the service's own folder block on the queue, never the network, never the
/// writing of a disk, and never a file of an app. Bytes do not pass through it.
package final class TransferEngine: @unchecked Sendable {
  let queue = DispatchQueue(label: "transfer-engine", qos: .utility)
  /// Copies of the queue are made here, one at a time.
  let copyingQueue = DispatchQueue(label: "transfer-engine.queue-copies", qos: .utility)
  /// Many ends at a time are sealed and encoded here, which takes some tens of milliseconds.
  let sealingQueue = DispatchQueue(label: "transfer-engine.sealing", qos: .utility)
  /// Looks whether the disk can be written, which may take it long.
  let probes = DispatchQueue(label: "transfer-engine.probes", qos: .utility)
  let store: TransferStore
  let files: TransferFiles
  let runner: any DownloadRunning
  let importer: ResumeFileImporter
  let exporter: ResumeFileExporter
  let snapshots: UploadSnapshots
  let newTasks: NewTaskJournal
  let removals = RemovalQueue()
  let deliveryThreads = CopyThreads(name: "deliveries", limits: .init(ofMount: 2, ofApp: 2, all: 8))
  let laterCopyThreads = CopyThreads(name: "later-copies", limits: .init(ofMount: 2, ofApp: 2, all: 8))
  /// Looks at programs of apps and starts them, which a file system may hold up.
  let programThreads = CopyThreads(name: "programs", limits: .init(ofMount: 1, ofApp: 1, all: 64))
  let launcher: any AppLaunching
  let clock: any ServiceClock
  let settings: Settings
  /// Seals the secrets in the queue.
  let key: QueueKey
  let log: Logger
  /// Called on the queue when there has been nothing to do for `idleExit`, the queue is damaged, or another service takes
  /// over.
  private let onIdle: @Sendable () -> Void
  /// Requests that have arrived and are not handled yet.
  private let arrivedRequests = Atomic<Int>(0)

  /// Why another service takes over; nil while none does.
  let handover = Mutex<Handover?>(nil)

  // Confined to the queue from here on.
  let timers: EngineTimers
  let runMarks: RunMarks
  var clients: [UInt64: ConnectedClient] = [:]
  var sessions = SessionTable()
  var transfers = TransferTable()
  /// The runs that are under way: one for each transfer that runs or was told to stop.
  var runs: [TransferID: any DownloadStopping] = [:]
  /// The questions that apps have not answered, by number.
  var questions = AskedQuestions()
  var passwords = TransferPasswords()
  var transfersAwaitingKey: Set<TransferID> = []
  /// The sessions whose logins of proxies are not in the queue yet.
  var unsealedSessions: Set<SessionID> = []
  var isOpeningKey = false
  /// Whether the queue may have sealed header fields or bodies, of requests or of responses.
  var hasSealedFields = false
  var clientsAwaitingKey: Set<UInt64> = []
  /// Transfers whose ends are written when it is known whether there is a key.
  var endsAwaitingKey: [TransferID] = []
  /// Transfers whose ends are written when the folders with what they have received are there again.
  var endsAwaitingStorage: [TransferID] = []
  var waitingCancellations: WaitingCancellations
  var gatheredEnds = GatheredEnds()
  /// How many changes of the queue are being written.
  var changesUnderWay = 0
  var changeLines = ChangeLines()
  /// Transfers whose turn has come while a change of their request was being written.
  var transfersAwaitingChange: Set<TransferID> = []
  /// The history is to be shortened when no session is being made or changed.
  var owesShortHistory = false
  var storage = StorageWatch()
  var usage: [AppID: AppUsage] = [:]
  var diskUse = DiskUse()
  /// Apps that have not connected for a while, by the paths of their programs.
  var absences: [String: AppAbsence] = [:]
  /// Apps whose tasks end since they do not come back.
  var givenUpApps: Set<AppID> = []
  /// Files for apps that have not been told of them.
  var preparedFiles: [TransferID: PreparedFile] = [:]
  /// Files that could not be removed yet.
  var leftovers: Set<Leftover> = []
  let bandwidth: BandwidthGate
  var isWatchingConditions = false
  var isWatchingSleep = false
  /// The facts that no service of the machine told last.
  var unknownConditions: [String] = []
  var isProbingStorage = false
  var room = RoomProof()
  /// Processes that live without the session that they held, by session.
  var holderWatches: [SessionID: ProcessWatch] = [:]
  private var questionCount: UInt64 = 0
  var scheduler: Scheduler
  var deadlines = ResourceDeadlines()
  var plannedDeadline: BootInstant?
  /// Transfers whose times have begun to stand still, or to go on, and are to be written.
  var changedTimes: Set<TransferID> = []
  var history: HistoryLimit
  var tries = TransferTries()
  var transactions = TransferTransactions()
  /// Transfers whose holders may have to be told why they wait.
  var changedReasons: Set<TransferID> = []
  /// Seconds that the last copy of the queue took.
  var copyDuration: TimeInterval = 0
  private var activityChanged: (@Sendable (Bool) -> Void)?
  private var toldActivity: Bool?
  /// Whether this service has looked for apps that do not come back.
  var hasForgottenApps = false
  /// Whether the service has rested since its last transfer or request.
  var hasRested = false
  private var awaitsRemovals = false
  private var hasAwaitedRemovals = false
  private var launchCount = 0
  /// Apps that are being started at this moment, by the numbers of their starts, and whether their processes have ended.
  var startsUnderWay: [Int: Bool] = [:]
  /// Those of sessions.
  var dueStarts: [SessionID: DueStart] = [:]
  /// How many programs of apps that do not come back are being looked for.
  var searchesForPrograms = 0
  private var phase = Phase.serving
  private var posted: Deque<PostedEvent> = []

  private enum Phase {
    case serving
    /// There was nothing to do for a while, the queue is damaged, or another service takes over. Nothing is begun any more; the next service does it.
    case closing
    /// Runs are being stopped; then the callbacks are called.
    case stopping([() -> Void])
    case stopped
  }

  private enum PostedEvent {
    case transfer(TransferID, TransferMachine.Event)
    case session(SessionID, SessionMachine.Event)
  }

  package init(
    store: TransferStore, files: TransferFiles, runner: any DownloadRunning, launcher: any AppLaunching,
    clock: any ServiceClock, settings: Settings, key: QueueKey, log: Logger, onIdle: @escaping @Sendable () -> Void
  ) {
    self.store = store
    self.files = files
    self.runner = runner
    self.launcher = launcher
    self.clock = clock
    self.settings = settings
    self.key = key
    self.log = log
    self.onIdle = onIdle
    importer = ResumeFileImporter(store: store, files: files, patience: settings.resumeFilePatience, log: log)
    exporter = ResumeFileExporter(store: store, files: files, key: key, log: log)
    snapshots = UploadSnapshots(files: files, key: key, log: log)
    newTasks = NewTaskJournal(store: store, files: files, log: log, patience: settings.recordPatience)
    timers = EngineTimers(queue: queue)
    runMarks = RunMarks(directory: files.runningDirectory, disk: files.disk, bootID: clock.bootID)
    scheduler = Scheduler(limits: settings.limits)
    waitingCancellations = WaitingCancellations(limit: settings.waitingCancellationsPerApp)
    history = HistoryLimit(interval: settings.pruningInterval)
    bandwidth = BandwidthGate(clock: clock)
    startedAt = clock.now
    store.database.recordChanges { [weak newTasks] in newTasks?.changed($0) }
    newTasks.watchFailures { [weak self] error in self?.enter { $0.storageIsSuspect(after: error) } }
  }

  let startedAt: BootInstant

  var sessionRules: SessionMachine.Rules {
    SessionMachine.Rules(
      deliveryWindow: settings.deliveryWindow, launches: settings.launches,
      earliestLaunch: startedAt + settings.launchGrace)
  }

  // MARK: From any thread

  package func connected(_ client: any ServiceClient) {
    enter { $0.clients[client.id] = ConnectedClient(client: client) }
  }

  package func received(_ message: ClientMessage, from client: any ServiceClient) {
    arrivedRequests.add(1, ordering: .relaxed)
    enter { engine in
      engine.arrivedRequests.subtract(1, ordering: .relaxed)
      engine.handle(message, from: client)
    }
  }

  /// The client has read what was sent: more events may go.
  package func becameWritable(_ client: any ServiceClient) {
    enter { engine in
      engine.sendOwedStatuses(to: client)
      for id in engine.sessions.held(by: client.id) { engine.post(.holderTakesMore, to: id) }
    }
  }

  package func disconnected(_ client: any ServiceClient) {
    enter { engine in
      engine.clients[client.id]?.hasEnded = true
      if !engine.keepWaiting(.disconnected, of: client) { engine.forget(client) }
    }
  }

  func forget(_ client: any ServiceClient) {
    dispatchPrecondition(condition: .onQueue(queue))
    let gone = clients.removeValue(forKey: client.id)
    if let gone { dropCancellations(by: gone) }
    for id in sessions.held(by: client.id) {
      withdrawQuestions(of: id)
      sessions.update(id) { $0.readEvents = ReadEvents() }
      post(.released, to: id)
    }
    // Once the sessions are free.
    for successor in gone?.successors ?? [] { enter { $0.handleWaiting(of: successor) } }
  }

  /// Looks at the clock and starts what is due. Happens by itself; tests with a clock of their own call it.
  package func poke() {
    enter { $0.lookAnew() }
  }

  func lookAnew() {
    dispatchPrecondition(condition: .onQueue(queue))
    scheduler.clockMoved()
    for id in sessions.ids { post(.clockMoved, to: id) }
  }

  /// The machine's network changed: failed transfers are tried again now instead of at the end of their wait.
  /// A network that comes up changes several times within a second, so this waits for the last of them.
  package func networkChanged() {
    enter { engine in
      engine.setTimer(.network, in: engine.settings.networkSettling) { engine in
        for id in engine.transfers.ids { engine.post(.networkChanged, to: id) }
      }
    }
  }

  /// Calls back from the queue, which shows that the engine is not stuck.
  package func ping(_ answer: @escaping @Sendable () -> Void) { queue.async(execute: answer) }

  /// Calls back from the queue, and says whether there are transfers to move, or changes are being written.
  package func ping(_ answer: @escaping @Sendable (_ isBusy: Bool) -> Void) {
    queue.async { answer(self.isBusy) }
  }

  /// Calls back from the queue: now, and each time that there begin or cease to be transfers to move, or changes that are
  /// written. So it is told of a new transfer before the app that has made it gets an answer, and a service that hangs after
  /// its answer is one that has something to do.
  package func watchActivity(_ changed: @escaping @Sendable (_ isBusy: Bool) -> Void) {
    enter { engine in
      engine.toldActivity = nil
      engine.activityChanged = changed
    }
  }

  /// Stops what runs, keeping what has arrived, and returns when nothing runs.
  package func shutDown() async {
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      enter { engine in
        switch engine.phase {
        case .stopped: return done.resume()
        case .stopping(let callbacks): engine.phase = .stopping(callbacks + [{ done.resume() }])
        case .serving, .closing: engine.phase = .stopping([{ done.resume() }])
        }
        for id in engine.transfers.ids { engine.post(.serviceEnds, to: id) }
        engine.importer.stop()
        engine.newTasks.stopWaiting()
      }
    }
  }

  // MARK: Turns

  /// Whether requests are taken and new work is begun.
  var isServing: Bool {
    if case .serving = phase { true } else { false }
  }

  /// Begins a turn. May be called on any thread.
  func enter(_ work: @escaping @Sendable (TransferEngine) -> Void) {
    queue.async {
      self.planCopy()
      work(self)
      self.finishTurn()
    }
  }

  /// Handles an event later in this turn.
  func post(_ event: TransferMachine.Event, to id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    posted.append(.transfer(id, event))
  }

  func post(_ event: SessionMachine.Event, to id: SessionID) {
    dispatchPrecondition(condition: .onQueue(queue))
    posted.append(.session(id, event))
  }

  private func finishTurn() {
    dispatchPrecondition(condition: .onQueue(queue))
    endOverdue()
    repeat {
      while let next = posted.popFirst() {
        switch next {
        case .transfer(let id, let event): apply(event, to: id)
        case .session(let id, let event): apply(event, to: id)
        }
      }
      startWhatIsDue()
      // A service that ends waits for no others.
      writeEnds(requestsWait: isServing && arrivedRequests.load(ordering: .relaxed) > 0)
    } while !posted.isEmpty || mayChoose && scheduler.isDecisionDue
    writeTimes()
    tellReasons()
    planDeadline()
    tellActivity()
    watchRest()
    watchIdleTime()
    finishStopping()
  }

  /// Whether all changes that were asked for are on the disk, or were not made.
  var isWritten: Bool { changesUnderWay == 0 && gatheredEnds.isEmpty }

  /// Whether transfers may begin to run.
  private var mayChoose: Bool { isServing && storage.isAvailable }

  /// Lets the scheduler choose, and plans when it chooses next.
  private func startWhatIsDue() {
    guard mayChoose, scheduler.isDecisionDue else { return }
    for id in runs.keys { tellHeldBackTime(of: id) }
    let decision = scheduler.decide(now: clock.now, date: clock.date)
    for id in decision.stop { apply(.gaveWay, to: id) }
    for id in decision.start { apply(.chosen(readiness(of: id)), to: id) }
    if !decision.start.isEmpty || !decision.stop.isEmpty { refreshReasons() }
    guard let seconds = decision.wakeAfter else { return timers.cancel(.schedule) }
    // Never far ahead: dates follow the wall clock, which may be set, and the machine may sleep.
    setTimer(.schedule, in: min(max(seconds, 0.001), 30)) { $0.scheduler.clockMoved() }
  }

  /// Begins a turn after a while. The engine may be gone by then.
  func setTimer(_ key: EngineTimers.Key, in seconds: TimeInterval, _ work: @escaping (TransferEngine) -> Void) {
    timers.set(key, in: seconds) { [weak self] in
      guard let self else { return }
      work(self)
      finishTurn()
    }
  }

  func nextLaunchNumber() -> Int {
    launchCount += 1
    return launchCount
  }

  func nextQuestionNumber() -> UInt64 {
    questionCount += 1
    return questionCount
  }

  private var isBusy: Bool { transfers.activeCount > 0 || changesUnderWay > 0 }

  private func tellActivity() {
    if transfers.activeCount > 0 { hasRested = false }
    watchSleep()
    let isBusy = self.isBusy
    guard let activityChanged, isBusy != toldActivity else { return }
    toldActivity = isBusy
    activityChanged(isBusy)
  }

  // MARK: The end

  /// Without transfers to move, and without requests for a while, the service rests.
  private func watchRest() {
    guard isServing, transfers.activeCount == 0 else { return timers.cancel(.rest) }
    guard !hasRested, !timers.isSet(.rest), settings.rests != nil || isWatchingSleep else { return }
    setTimer(.rest, in: settings.restPatience) { engine in
      engine.hasRested = true
      engine.endWatchingSleep()
      engine.settings.rests?()
    }
  }

  private func watchIdleTime() {
    guard isServing, let patience = settings.idleExit else { return }
    // Suspended transfers need no service: resuming one starts it again.
    guard clients.isEmpty, transfers.activeCount == 0, !sessions.awaitsLaunch else { return timers.cancel(.idle) }
    guard !timers.isSet(.idle) else { return }
    setTimer(.idle, in: patience) { engine in
      guard !engine.forgetsAbsentAppsBeforeItsEnd() else { return }
      engine.log.info("nothing to do for \(patience) s")
      engine.stopServing()
    }
  }

  /// Takes no more requests and begins nothing more, so that this service ends.
  func stopServing() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isServing else { return }
    phase = .closing
    onIdle()
  }

  private func finishStopping() {
    guard case .stopping(let callbacks) = phase, transfers.busyCount == 0, isWritten else { return }
    guard removals.isIdle || hasAwaitedRemovals else { return awaitRemovals() }
    phase = .stopped
    if isWatchingConditions { settings.conditions?.stop() }
    isWatchingConditions = false
    endWatchingSleep()
    files.leases.releaseAll()
    timers.cancelAll()
    for client in clients.values { client.client.close() }
    for callback in callbacks { callback() }
  }

  /// The next service would find the files that are not removed. One that a file system holds is left to it.
  private func awaitRemovals() {
    guard !awaitsRemovals else { return }
    awaitsRemovals = true
    if !timers.isSet(.lastRemovals) {
      setTimer(.lastRemovals, in: settings.lastRemovalsPatience) { $0.hasAwaitedRemovals = true }
    }
    removals.whenIdle { [self] in
      enter { $0.awaitsRemovals = false }
    }
  }
}
