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
    /// Tells when the machine sleeps; nil: nothing does.
    package var sleep: (any SleepReporting)? = SleepMonitor()
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
    let locks = try await NIOThreadPool.singleton.runIfActive {
      var locks = Locks()
      try locks.takeMissing(configuration)
      return locks
    }
    return try await serve(try await prepare(configuration, locks))
  }

  /// The service before it listens.
  struct Prepared {
    let configuration: Configuration
    let locks: Locks
    let engine: TransferEngine
    let store: TransferStore
    let runner: DownloadRunner
    let pool: NIOThreadPool
    let idle: AsyncStream<Void>
    let idleEnd: AsyncStream<Void>.Continuation

    /// Closes the queue, so that it can be opened again.
    func discard() async {
      await engine.shutDown()
      runner.shutDown()
      try? await pool.runIfActive { [store] in try store.close() }
      try? await pool.shutdownGracefully()
    }
  }

  /// Opens the queue, and recovers. Where the storage fails, all is closed again.
  static func prepare(_ configuration: Configuration, _ locks: Locks) async throws -> Prepared {
    let log = configuration.log
    // Files and the database: on threads that may wait for the disk.
    let key = configuration.makeKey()
    let store = try await NIOThreadPool.singleton.runIfActive {
      let store = try TransferStore.open(
        in: configuration.stateDirectory, sealingWith: key, report: { log.error("\($0)") })
      if locks.socket != nil {
        do { try configuration.mark.set() } catch {
          log.warning("the next service does not wait for a state folder that is missing: \(error)")
        }
      }
      note(configuration)
      return store
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
    settings.sleep = configuration.sleep
    let (idle, idleEnd) = AsyncStream.makeStream(of: Void.self)
    let engine = TransferEngine(
      store: store, files: files, runner: runner, launcher: configuration.launcher, clock: configuration.clock,
      settings: settings, key: key, log: log,
      onIdle: { idleEnd.finish() })
    let prepared = Prepared(
      configuration: configuration, locks: locks, engine: engine, store: store, runner: runner, pool: pool, idle: idle,
      idleEnd: idleEnd)
    do { try await pool.runIfActive { try engine.recover() } } catch {
      if StorageFault.sentence(ofStart: error, in: configuration.stateDirectory) != nil { await prepared.discard() }
      throw error
    }
    return prepared
  }

  static func serve(_ prepared: Prepared) async throws -> TransferDaemon {
    let (configuration, engine, locks) = (prepared.configuration, prepared.engine, prepared.locks)
    guard let stateLock = locks.state else { throw MissingLock() }
    let second = socketPath(stateDirectory: configuration.stateDirectory)
    let endpoint = configuration.adoptedSocket.map { TransferServer.Endpoint.adopted($0) }
    let server: TransferServer
    do {
      server = try await TransferServer.start(
        at: endpoint ?? .path(configuration.socketPath), lock: locks.socket,
        secondPath: configuration.socketPath == second ? nil : second,
        startAttempts: lockPath(stateDirectory: configuration.stateDirectory), engine: engine, log: configuration.log,
        replaced: { engine.handOver(.anotherListens) })
    } catch {
      if StorageFault.sentence(ofStart: error, in: configuration.stateDirectory) != nil { await prepared.discard() }
      throw error
    }
    // Most of what a start reads of the program is used by nothing that follows.
    engine.enter { $0.settings.releasesMemory?() }
    return TransferDaemon(
      engine: engine, store: prepared.store, runner: prepared.runner, server: server, pool: prepared.pool,
      stateLock: stateLock, log: configuration.log, idle: prepared.idle, idleEnd: prepared.idleEnd,
      mark: configuration.mark, stateDirectory: configuration.stateDirectory)
  }

  /// Not all locks were taken before the service was to listen.
  private struct MissingLock: Error {}

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
      if stateLock?.isHeld(as: path) == false { return engine.handOver(.lockIsGone) }
      if store?.hasLostFile == true { engine.fileOfQueueIsLost() }
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
  struct Locks: Sendable {
    private(set) var state: FileLock?
    /// Taken later where its folder can't be made now.
    private(set) var socket: FileLock?

    /// Takes those that are not held. Where the state folder can't be used, that of the socket is taken before this throws.
    mutating func takeMissing(_ configuration: Configuration) throws {
      func acquire(_ path: String) throws -> FileLock {
        guard let lock = try FileLock.acquire(path) else { throw AlreadyRunning(path: path) }
        return lock
      }
      var fault: SystemError?
      // That of the state first: the service that has it hears of the attempt, and looks after its socket.
      if state == nil {
        do {
          try PrivateDirectory.ensure(configuration.stateDirectory)
          state = try acquire(lockPath(stateDirectory: configuration.stateDirectory))
        } catch let error as SystemError { fault = error }
      }
      if socket == nil {
        do {
          try PrivateDirectory.ensure((configuration.socketPath as NSString).deletingLastPathComponent)
          socket = try acquire(configuration.socketPath + ".lock")
        } catch is SystemError {}
      }
      if let fault { throw fault }
    }
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
