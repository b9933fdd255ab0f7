import Dispatch
import Foundation
import Logging
import SystemServices
import TransferProtocol

/// The service's one mind: who is connected, who holds which session, what runs, what is still to be told.
///
/// Everything happens on its serial queue, in the order it arrived; what blocks there is the queue's own database and
/// single system calls, never the network. Bytes do not pass through it.
package final class TransferEngine: @unchecked Sendable {
  package struct Settings: Sendable {
    package var limits = Scheduler.Limits()
    package var launches = LaunchSchedule()
    /// How long after its start the service leaves apps that are running the time to come back.
    package var launchGrace: TimeInterval = 3
    /// How long the network has to be left alone after a change before retries are made at once, in seconds.
    package var networkSettling: TimeInterval = 1
    /// How many events a session may have on the way unacknowledged.
    package var deliveryWindow = 64
    package var programVersion = "0"
    /// Seconds without work and clients after which `onIdle` is called; nil means never.
    package var idleExit: TimeInterval?
    package var historyAge: TimeInterval = 7 * 86_400
    package var historyLength = 1_000
    /// After how many more finished transfers the history is shortened.
    package var pruningInterval = 200
    /// Seconds after which an app that was launched and is still there no longer keeps from launching it again.
    package var launchPatience: TimeInterval = 1_800

    /// How many transfers an app may have that are not over or not wholly told.
    package var transfersPerApp = 20_000
    /// Seconds until a change that could not be written to the queue is tried again.
    package var storagePatience: TimeInterval = 5

    package init() {}
  }

  let queue = DispatchQueue(label: "transfer-engine", qos: .utility)
  /// Where files are copied, one at a time.
  let copies = DispatchQueue(label: "transfer-engine.copies", qos: .utility)
  let store: TransferStore
  let files: TransferFiles
  let runner: DownloadRunner
  let launcher: any AppLaunching
  let clock: any ServiceClock
  let settings: Settings
  let log: Logger
  /// Called on the queue when there has been nothing to do for `idleExit`.
  private let onIdle: @Sendable () -> Void

  // Confined to the queue.
  var scheduler: Scheduler
  var clients: [UInt64: ConnectedClient] = [:]
  var sessions: [SessionID: LiveSession] = [:]
  var sessionsByName: [SessionName: SessionID] = [:]
  var transfers: [TransferID: LiveTransfer] = [:]
  var startedAt: BootInstant
  var isShuttingDown = false
  var toldSincePruning = 0
  /// Counts launches, so that what is known of an earlier one of the same session does not concern a later one.
  var launchRound = 0
  private var whenStopped: [() -> Void] = []
  private var idleRound = 0
  private var timerRound = 0
  private var networkRound = 0

  struct SessionName: Hashable {
    let app: AppID
    let identifier: String
  }

  package init(
    store: TransferStore, files: TransferFiles, runner: DownloadRunner, launcher: any AppLaunching,
    clock: any ServiceClock, settings: Settings, log: Logger, onIdle: @escaping @Sendable () -> Void
  ) {
    self.store = store
    self.files = files
    self.runner = runner
    self.launcher = launcher
    self.clock = clock
    self.settings = settings
    self.log = log
    self.onIdle = onIdle
    scheduler = Scheduler(limits: settings.limits)
    startedAt = clock.now
  }

  // MARK: From any thread

  package func connected(_ client: any ServiceClient) {
    queue.async {
      self.clients[client.id] = ConnectedClient(client: client)
      self.idleRound += 1
    }
  }

  package func received(_ message: ClientMessage, from client: any ServiceClient) {
    queue.async { self.handle(message, from: client) }
  }

  /// The client has read what was sent: more events may go.
  package func becameWritable(_ client: any ServiceClient) {
    queue.async {
      for (id, session) in self.sessions where session.holder == client.id { self.pump(id) }
    }
  }

  package func disconnected(_ client: any ServiceClient) {
    queue.async {
      self.clients[client.id] = nil
      for (id, session) in self.sessions where session.holder == client.id { self.release(id) }
      self.considerIdle()
    }
  }

  /// Looks at the clock and starts what is due. Happens by itself; tests with a clock of their own call it.
  package func poke() {
    queue.async {
      self.schedule()
      for id in self.sessions.keys { self.considerLaunch(id) }
    }
  }

  /// The machine's network changed: what failed for want of one is tried again now instead of at the end of its wait.
  /// A network that comes up changes several times within a second, so this waits for the last of them.
  package func networkChanged() {
    queue.async {
      self.networkRound += 1
      let round = self.networkRound
      self.after(self.settings.networkSettling) { engine in
        guard round == engine.networkRound else { return }
        engine.scheduler.retryNow()
        engine.schedule()
      }
    }
  }

  /// Calls back from the queue: whoever is called shows that the engine is not stuck.
  package func ping(_ answer: @escaping @Sendable () -> Void) { queue.async(execute: answer) }

  /// Stops what runs, keeping what has arrived, and returns when nothing does.
  package func shutDown() async {
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      queue.async {
        self.isShuttingDown = true
        self.whenStopped.append { done.resume() }
        for transfer in self.transfers.values { transfer.run?.stop() }
        self.considerStopped()
      }
    }
  }

  func considerStopped() {
    guard isShuttingDown, !transfers.values.contains(where: { $0.run != nil }) else { return }
    for client in clients.values { client.client.close() }
    let callbacks = whenStopped
    whenStopped = []
    for callback in callbacks { callback() }
  }

  // MARK: Time

  /// Starts what may run and sets the alarm for what may later.
  func schedule() {
    guard !isShuttingDown else { return }
    let decision = scheduler.decide(now: clock.now, date: clock.date)
    for id in decision.start { start(id) }
    guard let seconds = decision.wakeAfter else { return }
    timerRound += 1
    let round = timerRound
    // Never far ahead: dates follow the wall clock, which may be set, and the machine may sleep.
    after(min(max(seconds, 0.001), 30)) { if round == $0.timerRound { $0.schedule() } }
  }

  func after(_ seconds: TimeInterval, _ work: @escaping @Sendable (TransferEngine) -> Void) {
    queue.asyncAfter(deadline: .now() + seconds) { [weak self] in
      if let self { work(self) }
    }
  }

  /// Plans the end when there is nothing to do.
  func considerIdle() {
    guard let patience = settings.idleExit, isIdle else { return }
    idleRound += 1
    let round = idleRound
    after(patience) { engine in
      guard round == engine.idleRound, engine.isIdle, !engine.isShuttingDown else { return }
      engine.log.info("nothing to do for \(patience) s")
      // From here on nothing is taken that would be left lying; the next service takes it.
      engine.isShuttingDown = true
      engine.onIdle()
    }
  }

  /// Suspended transfers need nobody: whoever resumes them starts the service again.
  private var isIdle: Bool {
    clients.isEmpty && !transfers.values.contains { $0.state == .active || $0.run != nil }
      && !sessions.values.contains { $0.isLaunchPlanned || $0.isLaunched }
  }
}
