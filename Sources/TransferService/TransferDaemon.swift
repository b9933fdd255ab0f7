import Foundation
import Logging
import NIOPosix
import SystemServices
import TransferProtocol
import URLLoadingSystem

/// The whole service: queue, engine and socket, from start to end.
package final class TransferDaemon: Sendable {
  package struct Configuration: Sendable {
    /// The folder of the queue and the files.
    package var stateDirectory: String
    /// The path at which the socket is made, unless one is adopted.
    package var socketPath: String
    /// The file that tells apps where the queue is; nil: none does.
    package var notePath: String?
    package var adoptedSocket: Int32?
    package var settings = TransferEngine.Settings()
    package var clock: any ServiceClock = SystemClock()
    package var disk: any DurableFileSystem = LinuxFileSystem()
    package var launcher: any AppLaunching = AppLauncher()
    /// Tells when discretionary transfers may run; nil: always.
    package var conditions: (any ConditionsReporting)? = MachineConditionsMonitor()
    package var log: Logger
    /// Makes the storage for a session's credentials.
    package var makeCredentials: @Sendable () -> URLCredentialStorage = { .withKeychain() }
    /// The place for the key that seals passwords in the queue; nil where there is none.
    package var openSecrets: @Sendable () async -> (any SecretStore)? = { await UserSecrets.store(asksUser: false) }

    fileprivate func makeKey() -> QueueKey {
      QueueKey(
        ofQueue: stateDirectory, file: stateDirectory + "/key", clock: clock, report: { [log] in log.error("\($0)") },
        openStore: openSecrets)
    }

    /// Says to the next service that there is a queue.
    package var mark: QueueMark { QueueMark(socket: socketPath, stateFolder: stateDirectory, clock: clock) }

    package init(stateDirectory: String, socketPath: String, log: Logger) {
      self.stateDirectory = stateDirectory
      self.socketPath = socketPath
      self.log = log
    }
  }

  /// Another one is at work in that folder.
  package struct AlreadyRunning: Error, CustomStringConvertible {
    package let path: String
    package var description: String { "another transfer service is running (it has the lock \(path))" }
  }

  package let engine: TransferEngine
  package let store: TransferStore
  /// The damage of the queue that was found while the service used it: another service has to be started.
  package var damage: String? { store.damage }
  /// Why this service ends although there is something to do; nil otherwise.
  package var handover: Handover? { engine.handover.withLock { $0 } }
  private let runner: DownloadRunner
  private let server: TransferServer
  private let pool: NIOThreadPool
  private let stateLock: FileLock
  private let log: Logger
  /// Ends when there has been nothing to do for the configured time, or at the shutdown.
  private let idle: AsyncStream<Void>
  private let idleEnd: AsyncStream<Void>.Continuation
  /// Sees when the lock of the queue is removed: another service may have it then. Sees also when the folder goes away.
  private let stateWatch: PathWatcher?
  private let networkToken: NetworkMonitor.Token?
  private let mark: QueueMark

  /// Takes the locks, opens the queue, recovers and listens; when it returns, the service serves.
  package static func start(_ configuration: Configuration) async throws -> TransferDaemon {
    let log = configuration.log
    // Files and the database: on threads that may wait for the disk.
    let key = configuration.makeKey()
    let (stateLock, socketLock, store) = try await NIOThreadPool.singleton.runIfActive {
      let (stateLock, socketLock) = try acquireLocks(configuration)
      let store = try TransferStore.open(
        in: configuration.stateDirectory, sealingWith: key, report: { log.error("\($0)") })
      if socketLock != nil {
        do { try configuration.mark.set() } catch {
          log.warning("the next service does not wait for a state folder that is missing: \(error)")
        }
      }
      note(configuration)
      return (stateLock, socketLock, store)
    }
    if let quarantine = store.quarantine {
      log.error(
        """
        the queue was damaged or gone, and what was left is in \(quarantine.path); a new one was begun, and \
        \(quarantine.contents): \(quarantine.reason)
        """)
    }
    let files = TransferFiles(directory: configuration.stateDirectory, disk: configuration.disk)
    let pool = NIOThreadPool(numberOfThreads: 4)
    pool.start()
    let journals = JournalKeeper(
      store: store, files: files, key: key, bootID: configuration.clock.bootID, log: log)
    let runner = DownloadRunner(
      store: store, files: files, pool: pool, log: log, journals: journals,
      releasesMemory: configuration.settings.releasesMemory, makeCredentials: configuration.makeCredentials)
    var settings = TestTimes.shorten(configuration.settings)
    settings.conditions = configuration.conditions
    let (idle, idleEnd) = AsyncStream.makeStream(of: Void.self)
    let engine = TransferEngine(
      store: store, files: files, runner: runner, launcher: configuration.launcher, clock: configuration.clock,
      settings: settings, key: key, log: log,
      onIdle: { idleEnd.finish() })
    try await pool.runIfActive { try engine.recover() }
    let second = socketPath(stateDirectory: configuration.stateDirectory)
    let endpoint = configuration.adoptedSocket.map { TransferServer.Endpoint.adopted($0) }
    let server = try await TransferServer.start(
      at: endpoint ?? .path(configuration.socketPath), lock: socketLock,
      secondPath: configuration.socketPath == second ? nil : second,
      startAttempts: lockPath(stateDirectory: configuration.stateDirectory), engine: engine, log: log,
      replaced: { engine.handOver(.anotherListens) })
    // Most of what a start reads of the program is used by nothing that follows.
    engine.enter { $0.settings.releasesMemory?() }
    return TransferDaemon(
      engine: engine, store: store, runner: runner, server: server, pool: pool, stateLock: stateLock, log: log,
      idle: idle, idleEnd: idleEnd, mark: configuration.mark, stateDirectory: configuration.stateDirectory)
  }

  private init(
    engine: TransferEngine, store: TransferStore, runner: DownloadRunner, server: TransferServer, pool: NIOThreadPool,
    stateLock: FileLock, log: Logger, idle: AsyncStream<Void>, idleEnd: AsyncStream<Void>.Continuation,
    mark: QueueMark, stateDirectory: String
  ) {
    self.engine = engine
    self.store = store
    self.runner = runner
    self.server = server
    self.pool = pool
    self.stateLock = stateLock
    self.log = log
    self.idle = idle
    self.idleEnd = idleEnd
    self.mark = mark
    let path = TransferDaemon.lockPath(stateDirectory: stateDirectory)
    // The lock is given back with this service, and not when the watcher has ended.
    stateWatch = PathWatcher { [weak stateLock, weak store] in
      if store?.isAway == true { return engine.folderIsAway() }
      if stateLock?.isHeld(as: path) == false { engine.handOver(.lockIsGone) }
    }
    stateWatch?.watch(folder: stateDirectory)
    networkToken = NetworkMonitor.shared.add { engine.networkChanged() }
  }

  /// Apps that look for the queue elsewhere find it by the note. Without one they do where they have the service's folders.
  private static func note(_ configuration: Configuration) {
    guard let path = configuration.notePath else { return }
    let note = ServiceNote(socket: configuration.socketPath, stateFolder: configuration.stateDirectory)
    do { try note.write(to: path) } catch {
      configuration.log.warning("apps with another XDG_STATE_HOME do not find this service's queue: \(error)")
    }
  }

  /// Two locks: one beside the socket, and one beside the queue, since two services with different sockets must not
  /// work on one queue either.
  /// The socket's is taken later where its folder can't be made now.
  private static func acquireLocks(_ configuration: Configuration) throws -> (state: FileLock, socket: FileLock?) {
    try PrivateDirectory.ensure(configuration.stateDirectory)
    func acquire(_ path: String) throws -> FileLock {
      guard let lock = try FileLock.acquire(path) else { throw AlreadyRunning(path: path) }
      return lock
    }
    // That of the state first: the service that has it hears of the attempt, and looks after its socket.
    let state = try acquire(lockPath(stateDirectory: configuration.stateDirectory))
    do {
      try PrivateDirectory.ensure((configuration.socketPath as NSString).deletingLastPathComponent)
      return (state, try acquire(configuration.socketPath + ".lock"))
    } catch is SystemError { return (state, nil) }
  }

  /// The second socket. Between a logout and the next login the user can't make the runtime folder that has the first.
  package static func socketPath(stateDirectory: String) -> String { "\(stateDirectory)/\(ServiceNames.socket)" }

  /// The lock of the queue. A process that tries to start a service opens it.
  package static func lockPath(stateDirectory: String) -> String { stateDirectory + "/lock" }

  /// Returns when there has been nothing to do for the configured time, the queue is damaged, another service takes over, `shutDown` was called, or
  /// the task is cancelled.
  package func untilIdle() async { for await _ in idle {} }

  /// Bytes of a queue that is copied at the end of the service: the service manager waits for that.
  private static let longestLastCopy: Int64 = 64 << 20

  /// Stops listening, lets what runs keep what it has, and closes the queue.
  package func shutDown() async {
    if let networkToken { NetworkMonitor.shared.remove(networkToken) }
    await server.close()
    await engine.shutDown()
    runner.shutDown()
    do {
      try await pool.runIfActive { [engine, store, log, mark] in
        // A folder that is away is waited for by the next service.
        if !store.isAway { try? mark.remove() }
        do {
          try store.checkpoint()
          try engine.copyAtEnd(upTo: TransferDaemon.longestLastCopy)
        } catch { log.warning("the queue was not copied at the end: \(error)") }
        engine.noteDamage()
        try store.close()
      }
    } catch { log.warning("the queue was not closed neatly: \(error)") }
    try? await pool.shutdownGracefully()
    idleEnd.finish()
    // Given back only here: until the queue is closed no other service may start.
    withExtendedLifetime((stateLock, server)) {}
  }
}
