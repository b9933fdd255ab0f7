import Foundation
import Logging
import LoopbackServer
import Synchronization
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// A service whose storage can't be used when it starts.
@Suite struct TransferDaemonStorageTests {
  private let folder: TemporaryFolder
  private let configuration: TransferDaemon.Configuration
  private let logged = Recorder<String>()

  init() throws {
    folder = try TemporaryFolder()
    let logged = logged
    let log = Logger(label: "tests") { _ in RecordingLog(logged: logged) }
    configuration = .init(stateDirectory: folder.path + "/state", socketPath: folder.path + "/run/socket", log: log)
  }

  /// SQLite can't open a queue whose log is a folder, which holds for root too.
  private var obstacle: String { configuration.stateDirectory + "/queue.sqlite-wal" }

  /// Leaves a queue with one transfer, and puts the obstacle in its way.
  private func leaveClosedQueue() throws {
    try PrivateDirectory.ensure(configuration.stateDirectory)
    let store = try TransferStore.open(in: configuration.stateDirectory)
    let program = ExecutableIdentity(path: "/app", device: 1, inode: 2, owner: geteuid())
    let session = try store.attach(app: store.app(for: program), identifier: "s", options: SessionOptions())
    let new = TransferStore.NewTransfer(.download("http://127.0.0.1:1/f"), host: "h")
    _ = try store.create([new], session: session.id, date: Date())
    try store.checkpoint()
    try store.close()
    for suffix in ["-wal", "-shm"] { unlink(configuration.stateDirectory + "/queue.sqlite" + suffix) }
    try #require(mkdir(obstacle, 0o700) == 0)
  }

  private func greeting(at path: String) async throws -> ServiceReply? {
    let client = try await SocketClient.connect(path)
    defer { client.close() }
    return try await client.ask(.hello(Hello(client: "tests")))
  }

  private func expectRefusal(at path: String, naming text: String) async throws {
    guard case .refused(let refusal) = try await greeting(at: path) else {
      Issue.record("\(path) does not refuse")
      return
    }
    #expect(refusal.reason == .storage && refusal.hasTooManyConnections == nil)
    #expect(refusal.message.contains(text) && refusal.message.contains("goes on by itself"), "\(refusal.message)")
  }

  private func expectService(at path: String) async throws {
    guard case .hello = try await greeting(at: path) else {
      Issue.record("\(path) does not greet")
      return
    }
  }

  @Test func aQueueThatCannotBeOpenedIsWaitedForAndAppsAreToldWhy() async throws {
    try leaveClosedQueue()
    let sockets = [configuration.socketPath, TransferDaemon.socketPath(stateDirectory: configuration.stateDirectory)]
    var pauses: [TimeInterval] = []
    let daemon = try await TransferDaemon.start(configuration) { pause in
      pauses.append(pause)
      for socket in sockets { try await expectRefusal(at: socket, naming: "queue.sqlite, can't be opened") }
      // The next service does not take its place.
      await #expect(throws: TransferDaemon.AlreadyRunning.self) { _ = try await TransferDaemon.start(configuration) }
      if pauses.count == 3 { #expect(rmdir(obstacle) == 0) }
      return true
    }
    #expect(pauses == [0.25, 0.5, 1])
    for socket in sockets { try await expectService(at: socket) }
    #expect(try daemon.store.unfinishedHeads().count == 1 && daemon.store.quarantine == nil)
    let reasons = logged.all.filter { $0.contains("waits for its storage") }
    #expect(reasons.count == 1, "\(reasons)")
    await daemon.shutDown()
  }

  @Test func theTriesOfALongWaitAreFar() async throws {
    try leaveClosedQueue()
    var pauses: [TimeInterval] = []
    await #expect(throws: TransferDaemon.StorageUnavailable.self) {
      _ = try await TransferDaemon.start(configuration) { pause in
        pauses.append(pause)
        return pauses.reduce(0, +) < 60
      }
    }
    #expect(pauses.count < 12 && pauses.max() == 10, "\(pauses)")
    var status = stat()
    #expect(lstat(configuration.socketPath, &status) != 0, "the socket stays behind")
    // The locks are free, and nothing is lost.
    #expect(rmdir(obstacle) == 0)
    let daemon = try await TransferDaemon.start(configuration)
    #expect(try daemon.store.unfinishedHeads().count == 1)
    await daemon.shutDown()
  }

  /// The folders of a queue that could be opened.
  @Test(arguments: [EACCES, EIO, EROFS, ENOSPC, EDQUOT, ESTALE])
  func aFolderThatCannotBeUsedIsWaitedFor(code: Int32) async throws {
    let disk = FaultyFileSystem()
    var configuration = configuration
    configuration.disk = disk
    disk.set([.init(.syncDirectory, code: code, path: "/state", times: 2)])
    var count = 0
    let daemon = try await TransferDaemon.start(configuration) { _ in
      count += 1
      try await expectRefusal(at: configuration.socketPath, naming: String(cString: strerror(code)))
      return true
    }
    #expect(count == 2 && disk.faultsLeft(of: .syncDirectory, "/state") == 0)
    try await expectService(at: configuration.socketPath)
    await daemon.shutDown()
  }

  /// The socket that tells the reason is bound when its folder can be made, and has the lock that the service needs.
  @Test func aRuntimeFolderThatComesBackMeanwhileIsNotAnotherService() async throws {
    try leaveClosedQueue()
    let parent = folder.path + "/user"
    try Data().write(to: URL(fileURLWithPath: parent))
    var configuration = configuration
    configuration.socketPath = parent + "/run/socket"
    let path = configuration.socketPath
    let daemon = try await TransferDaemon.start(configuration) { _ in
      #expect(unlink(parent) == 0 && rmdir(obstacle) == 0)
      try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
      try PrivateDirectory.ensure(parent + "/run")
      try await eventually("the refusal of the service that waits") {
        (try? await expectRefusal(at: path, naming: "can't be opened")) != nil
      }
      return true
    }
    try await expectService(at: configuration.socketPath)
    await daemon.shutDown()
  }

  /// The socket of the service manager stays open, also for what connects between two tries.
  @Test func anAdoptedSocketOutlivesTheWait() async throws {
    try leaveClosedQueue()
    try PrivateDirectory.ensure(folder.path + "/run")
    let descriptor = try UnixListener.bind(configuration.socketPath)
    try #require(listen(descriptor, 5) == 0)
    var adopting = configuration
    adopting.adoptedSocket = descriptor
    let daemon = try await TransferDaemon.start(adopting) { _ in
      try await expectRefusal(at: configuration.socketPath, naming: "can't be opened")
      #expect(rmdir(obstacle) == 0)
      return true
    }
    try await expectService(at: configuration.socketPath)
    await daemon.shutDown()
  }

  /// Waiting mends nothing there.
  @Test func otherFaultsEndTheStart() async throws {
    try PrivateDirectory.ensure(configuration.stateDirectory)
    #expect(chmod(configuration.stateDirectory, 0o777) == 0)
    await #expect(throws: PrivateDirectory.Refusal.self) {
      _ = try await TransferDaemon.start(configuration) { _ in
        Issue.record("it is waited for")
        return false
      }
    }
  }
}
