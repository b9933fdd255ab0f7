import Foundation
import Logging
import LoopbackServer
import NIOPosix
import Synchronization
import SystemFakes
import SystemServices
import TransferProtocol
import TransferService

/// Everything of the service but the socket, on a real disk that can break and a clock that a test moves.
final class EngineFixture: Sendable {
  let folder: TemporaryFolder
  let store: TransferStore
  let files: TransferFiles
  let disk: FaultyFileSystem
  let clock: FakeClock
  let launcher: FakeLauncher
  let runner: DownloadRunner
  let engine: TransferEngine
  let idle = Gate()
  private let pool: NIOThreadPool

  init(
    folder: TemporaryFolder? = nil, clock: FakeClock = FakeClock(), disk: FaultyFileSystem = FaultyFileSystem(),
    _ change: (inout TransferEngine.Settings) -> Void = { _ in }
  ) throws {
    self.folder = try folder ?? TemporaryFolder()
    self.clock = clock
    self.disk = disk
    store = try TransferStore.open(in: self.folder.path)
    files = TransferFiles(directory: self.folder.path, disk: disk)
    pool = NIOThreadPool(numberOfThreads: 2)
    pool.start()
    var log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    log.logLevel = .critical
    runner = DownloadRunner(store: store, files: files, pool: pool, log: log)
    launcher = FakeLauncher()
    var settings = TransferEngine.Settings()
    settings.launchGrace = 0
    change(&settings)
    let idle = self.idle
    engine = TransferEngine(
      store: store, files: files, runner: runner, launcher: launcher, clock: clock, settings: settings, log: log,
      onIdle: { idle.open() })
    try engine.recover()
  }

  /// A process that is alive until `end` is called with it.
  static let ourselves = ProcessIdentity(pid: getpid()) ?? ProcessIdentity(pid: 1, startTime: 0)
  /// One that is not.
  static let dead = ProcessIdentity(pid: 4_000_000, startTime: 1)

  func client(_ program: String = "/app", process: ProcessIdentity = EngineFixture.dead) -> FakeClient {
    FakeClient(engine, program: program, process: process)
  }

  /// Ends this life of the service; the queue and the files stay for the next.
  func shutDown() async {
    await engine.shutDown()
    runner.shutDown()
    try? store.close()
    try? await pool.shutdownGracefully()
  }

  func names(_ directory: String) -> [String] { (try? disk.names(in: folder.path + "/" + directory)) ?? [] }

  /// Returns once the engine has done everything it was given before.
  func settle() async { await withCheckedContinuation { done in engine.ping { done.resume() } } }
}

/// Writes down who is to be launched.
final class FakeLauncher: AppLaunching {
  struct Launch: Sendable {
    let executable: ExecutableIdentity
    let session: String
    let ended: @Sendable () -> Void
  }

  let launches = Recorder<Launch>()
  private let refusal = Mutex<ExecutableIdentity.Change?>(nil)

  func refuse(_ change: ExecutableIdentity.Change?) { refusal.withLock { $0 = change } }

  func launch(_ executable: ExecutableIdentity, session: String, ended: @escaping @Sendable () -> Void) throws {
    if let change = refusal.withLock({ $0 }) { throw change }
    launches.record(Launch(executable: executable, session: session, ended: ended))
  }
}
