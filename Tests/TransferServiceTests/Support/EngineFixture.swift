import Dispatch
import Foundation
import Logging
import LoopbackServer
import NIOPosix
import Synchronization
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Everything of the service but the socket, on a real disk that can break and a clock that a test moves.
final class EngineFixture: Sendable {
  let folder: TemporaryFolder
  /// For the files of apps: those in the service's own folder are not uploaded.
  let appFolder: TemporaryFolder
  let store: TransferStore
  let files: TransferFiles
  let disk: FaultyFileSystem
  let clock: FakeClock
  let launcher: FakeLauncher
  private let runner: DownloadRunner
  let engine: TransferEngine
  let idle = Gate()
  private let pool: NIOThreadPool
  private let otherRunner: (any DownloadRunning)?
  private let secrets: (any SecretStore)?
  private let log: Logger
  private let change: @Sendable (inout TransferEngine.Settings) -> Void
  private let end = Mutex(End())

  private struct End {
    var isShutDown = false
    var leftovers: [String] = []
    var next: EngineFixture?
  }

  init(
    folder: TemporaryFolder? = nil, clock: FakeClock = FakeClock(), disk: FaultyFileSystem = FaultyFileSystem(),
    runner otherRunner: (any DownloadRunning)? = nil, secrets: (any SecretStore)? = nil,
    log: Logger? = nil, _ change: @escaping @Sendable (inout TransferEngine.Settings) -> Void = { _ in }
  ) throws {
    self.folder = try folder ?? TemporaryFolder()
    appFolder = try TemporaryFolder()
    self.clock = clock
    self.disk = disk
    self.otherRunner = otherRunner
    self.secrets = secrets
    self.change = change
    let key = QueueKey(ofQueue: "tests", file: self.folder.path + "/key", clock: clock) { secrets }
    store = try TransferStore.open(in: self.folder.path, bootID: clock.bootID, sealingWith: key)
    files = TransferFiles(directory: self.folder.path, disk: disk)
    pool = NIOThreadPool(numberOfThreads: 2)
    pool.start()
    var silent = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    silent.logLevel = .critical
    let log = log ?? silent
    self.log = log
    let journals = JournalKeeper(store: store, files: files, key: key, bootID: clock.bootID, log: log)
    runner = DownloadRunner(store: store, files: files, pool: pool, log: log, journals: journals)
    launcher = FakeLauncher()
    var settings = TransferEngine.Settings()
    settings.launchGrace = 0
    // Real time.
    settings.recordPatience = 0
    change(&settings)
    let idle = self.idle
    engine = TransferEngine(
      store: store, files: files, runner: otherRunner ?? runner, launcher: launcher, clock: clock, settings: settings,
      key: key, log: log,
      onIdle: { idle.open() })
    try engine.recover()
  }

  /// A process that is alive: this one.
  static let ourselves = ProcessIdentity(pid: getpid()) ?? ProcessIdentity(pid: 1, startTime: 0)
  /// A process that is not.
  static let dead = ProcessIdentity(pid: 4_000_000, startTime: 1)

  func client(_ program: String = "/app", process: ProcessIdentity = EngineFixture.dead) -> FakeClient {
    FakeClient(engine, program: program, process: process)
  }

  /// The names in a folder of the service, once all files that it has given up are removed.
  func names(_ directory: String) -> [String] {
    engine.queue.sync {}
    let removed = DispatchSemaphore(value: 0)
    engine.removals.whenIdle { removed.signal() }
    removed.wait()
    return (try? disk.names(in: folder.path + "/" + directory)) ?? []
  }

  /// Returns once the engine has done everything it was given before, and the queue is written.
  func settle() async {
    await ping()
    while !engine.isQuiet {
      await withCheckedContinuation { done in store.database.whenWritten { done.resume() } }
      await ping()
    }
  }

  private func ping() async { await withCheckedContinuation { done in engine.ping { done.resume() } } }

  /// Time passes once the engine has done what it was given before, and the engine looks at the clock.
  func advance(by seconds: TimeInterval) async {
    await settle()
    clock.advance(by: seconds)
    engine.poke()
    await settle()
  }

  /// From now on the queue takes no such change, as with a broken disk.
  ///
  /// - Parameter change: in the words of `CREATE TRIGGER`.
  func breakQueue(_ change: String = "INSERT ON events") throws {
    try store.database.write {
      try $0.execute(sql: "CREATE TRIGGER broken BEFORE \(change) BEGIN SELECT RAISE(ABORT, 'a broken disk'); END")
    }
  }

  func mendQueue() throws { try store.database.write { try $0.execute(sql: "DROP TRIGGER broken") } }

  // MARK: Lives

  /// Ends this life of the service and begins the next one, with the same queue, files and settings.
  func nextLife() async throws -> EngineFixture {
    await shutDown()
    let next = try EngineFixture(
      folder: folder, clock: clock, disk: disk, runner: otherRunner, secrets: secrets, log: log, change)
    end.withLock { $0.next = next }
    return next
  }

  /// This life and those that followed it.
  var lives: [EngineFixture] { [self] + (end.withLock { $0.next }?.lives ?? []) }

  /// Ends this life of the service, and those that followed it. The queue and the files stay.
  func shutDown() async {
    await end.withLock { $0.next }?.shutDown()
    let isFirst = end.withLock { end in
      defer { end.isShutDown = true }
      return !end.isShutDown
    }
    guard isFirst else { return }
    await engine.shutDown()
    // The engine waits for no probe: its disk may hang. One that has begun removes its file.
    await withCheckedContinuation { ended in engine.probes.async { ended.resume() } }
    var leftovers = engine.leftovers
    runner.shutDown()
    do {
      leftovers += try unneededFiles()
      try store.close()
      try await pool.shutdownGracefully()
    } catch { leftovers.append("shutting down failed: \(error)") }
    end.withLock { $0.leftovers = leftovers }
  }

  /// After `shutDown`: no run, no timer, and no file that no transfer needs.
  func expectNothingLeft() { #expect(end.withLock { $0.leftovers } == []) }

  private func unneededFiles() throws -> [String] {
    let unfinished = Set(try store.unfinishedHeads().map(\.id))
    let undelivered = try store.transfersWithUndeliveredFile()
    func number(_ name: String) -> TransferID? { TransferID(name.prefix { $0 != "." }) }
    let partial = names("partial").filter { !(number($0).map(unfinished.contains) ?? false) }
    // A transfer whose end could not be written before the service ended has its file, and gets its events at the start.
    let needed = undelivered.union(unfinished)
    let complete = names("complete").filter { !(number($0).map(needed.contains) ?? false) }
    let delivery = names("delivery").filter {
      $0.hasSuffix(".tmp") && !(number($0).map(undelivered.contains) ?? false)
    }
    let uploads = names("uploads").filter { !(number($0).map(unfinished.contains) ?? false) }
    let journals = names(JournalFolder.name).filter { !(number($0).map(needed.contains) ?? false) }
    let unneeded = uploads.map { "uploads/\($0)" } + journals.map { "journals/\($0)" }
    return unneeded + partial.map { "partial/\($0)" } + complete.map { "complete/\($0)" }
      + delivery.map { "delivery/\($0)" }
  }
}

extension TransferEngine {
  private var isBusyWithPrograms: Bool { !startsUnderWay.isEmpty || searchesForPrograms > 0 }

  /// Nothing is being written, no program is being looked at, and no request waits for that.
  fileprivate var isQuiet: Bool {
    queue.sync {
      isWritten && !isPreparingFiles && !isBusyWithPrograms && clients.values.allSatisfy { $0.waiting == nil }
    }
  }

  /// Work that is still under way after the engine has stopped.
  fileprivate var leftovers: [String] {
    queue.sync {
      runs.keys.map { "the run of transfer \($0)" } + (timers.isEmpty ? [] : ["a timer"])
        + (transfers.busyCount == 0 ? [] : ["\(transfers.busyCount) busy transfers"])
    }
  }
}
