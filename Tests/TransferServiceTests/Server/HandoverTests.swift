import Foundation
import Logging
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Another service takes the place of one that has work.
@Suite struct HandoverTests {
  private let folder: TemporaryFolder
  private let configuration: TransferDaemon.Configuration

  init() throws {
    folder = try TemporaryFolder()
    let log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    configuration = .init(stateDirectory: folder.path + "/state", socketPath: folder.path + "/run/socket", log: log)
  }

  private func client() async throws -> SocketClient {
    let client = try await SocketClient.connect(configuration.socketPath)
    _ = try await client.ask(.hello(Hello(client: "tests")))
    var options = SessionOptions()
    options.sessionSendsLaunchEvents = false
    _ = try await client.ask(.attach(Attach(session: "s", options: options)))
    _ = try await client.ask(.startDelivery(SessionReference(session: "s")))
    return client
  }

  /// Waits for the locks of the service before, as the program does.
  private func successor(_ configuration: TransferDaemon.Configuration) async throws -> TransferDaemon {
    var successor: TransferDaemon?
    try await eventually("the locks") {
      do { successor = try await TransferDaemon.start(configuration) } catch is TransferDaemon.AlreadyRunning {}
      return successor != nil
    }
    return try #require(successor)
  }

  /// Runs until another service has to take over.
  private func runToHandover(
    _ change: () async throws -> Void
  ) async throws -> Handover? {
    let daemon = try await TransferDaemon.start(configuration)
    try await change()
    await daemon.untilIdle()
    await daemon.shutDown()
    return daemon.handover
  }

  /// The length of the only part.
  private func partLength() throws -> Int {
    let parts = URL(fileURLWithPath: configuration.stateDirectory + "/partial", isDirectory: true)
    let files = try FileManager.default.contentsOfDirectory(at: parts, includingPropertiesForKeys: nil)
    return try files.first?.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
  }

  /// As the user's service manager does when its socket unit is started while a service runs that an app has started.
  @Test func theServiceOfAnotherListenerGoesOn() async throws {
    let file = FileResource(size: 3 << 20)
    file.update { $0.cuts = [.after(2 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    var adopting = configuration
    let handover = try await runToHandover {
      let app = try await client()
      let creation = CreateTasks(session: "s", tasks: [.download(server.url("/f").absoluteString)])
      _ = try await app.ask(.createTasks(creation))
      // What the server has sent may still be on its way.
      try await eventually("bytes in the part") { try partLength() >= 1 << 20 }
      let other = folder.path + "/run/other"
      let descriptor = try UnixListener.bind(other)
      try #require(listen(descriptor, 5) == 0 && rename(other, configuration.socketPath) == 0)
      adopting.adoptedSocket = descriptor
      app.close()
    }
    #expect(handover == .anotherListens)

    let second = try await successor(adopting)
    let back = try await client()
    let download = try #require(try await back.nextEvent().download)
    #expect(file.version.pattern.difference(toFile: download.path, count: 3 << 20) == nil)
    #expect(file.served.count == 2 && (file.served.last?.offset ?? 0) > 0, "it did not go on where the first one ended")
    back.close()
    await second.shutDown()
    await server.shutdown()
  }

  /// A lock without a name keeps no other service from the queue.
  @Test func aServiceWhoseLockIsRemovedEnds() async throws {
    let handover = try await runToHandover {
      #expect(unlink(TransferDaemon.lockPath(stateDirectory: configuration.stateDirectory)) == 0)
    }
    #expect(handover == .lockIsGone)
    let next = try await successor(configuration)
    #expect(next.handover == nil)
    await next.shutDown()
  }

  /// SQLite goes on with files that have no name: what is written to them is gone with the process.
  @Test(arguments: ["", "-wal"]) func aServiceWhoseQueueIsRemovedEndsAndTheNextOneHasItsCopy(suffix: String)
    async throws
  {
    var configuration = self.configuration
    configuration.settings.copyInterval = 3_600
    let first = Running(try await TransferDaemon.start(configuration))
    let app = try await client()
    _ = try await app.ask(.createTasks(CreateTasks(session: "s", tasks: [.download("http://h/", running: false)])))
    #expect(unlink("\(configuration.stateDirectory)/\(TransferStore.fileName)\(suffix)") == 0)
    await first.daemon?.untilIdle()
    #expect(first.daemon?.damage?.hasSuffix("was removed while it was in use") == true)
    let copy = "\(configuration.stateDirectory)/\(QueueCopy.fileName)"
    #expect(try QueueFile.numbers(in: copy).transfer == 1)
    app.close()
    await first.end()

    let next = try await successor(configuration)
    #expect(try next.store.quarantine != nil && next.store.unfinishedHeads().map(\.id) == [1])
    await next.shutDown()
  }

  // MARK: A folder that is away

  private var away: String { folder.path + "/away" }

  /// Has the locks for as long as it has the service.
  private final class Running {
    var daemon: TransferDaemon?
    init(_ daemon: TransferDaemon) { self.daemon = daemon }

    func end() async {
      await daemon?.shutDown()
      daemon = nil
    }
  }

  /// Runs until a download is under way, and the folder of the queue was moved away.
  private func runWithoutFolder(
    _ body: (Running, SocketClient) async throws -> Void
  ) async throws {
    let file = FileResource(size: 8 << 20)
    file.update { $0.cuts = [.after(6 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    var patient = configuration
    patient.settings.storagePatience = 0.05
    let running = Running(try await TransferDaemon.start(patient))
    let app = try await client()
    let creation = CreateTasks(session: "s", tasks: [.download(server.url("/f").absoluteString)])
    _ = try await app.ask(.createTasks(creation))
    // Those that are committed are kept.
    try await eventually("bytes that are kept") {
      try running.daemon?.store.transfer(1)?.head.committedOffset ?? 0 > 0
    }
    #expect(rename(configuration.stateDirectory, away) == 0)
    try await eventually("the folder to be missed") {
      running.daemon.map { daemon in !daemon.engine.queue.sync { daemon.engine.storage.isAvailable } } ?? false
    }
    try await body(running, app)
    #expect(file.served.count == 2 && (file.served.last?.offset ?? 0) > 0, "it did not go on where it was")
    await server.shutdown()
  }

  private func expectDownload(_ app: SocketClient) async throws {
    let download = try #require(try await app.nextEvent().download)
    #expect(FileManager.default.contents(atPath: download.path)?.count == 8 << 20)
    app.close()
  }

  /// As with a disk that is away for a moment.
  @Test func aServiceWaitsForAFolderThatWasMovedAway() async throws {
    try await runWithoutFolder { running, app in
      let isStaying = running.daemon?.handover == nil
      #expect(isStaying && access(configuration.stateDirectory, F_OK) != 0)
      #expect(rename(away, configuration.stateDirectory) == 0)
      try await expectDownload(app)
      await running.end()
    }
  }

  @Test func aServiceThatEndsWithoutItsFolderMakesNoneAndTheNextOneWaits() async throws {
    try await runWithoutFolder { running, app in
      app.close()
      await running.end()
      #expect(access(configuration.stateDirectory, F_OK) != 0)
      #expect(configuration.mark.remainingWait() != nil)
      #expect(rename(away, configuration.stateDirectory) == 0)
      #expect(configuration.mark.remainingWait() == nil)
      let next = try await successor(configuration)
      try await expectDownload(try await client())
      await next.shutDown()
    }
  }

  @Test func afterAnOrderlyEndNoFolderIsWaitedFor() async throws {
    let daemon = try await TransferDaemon.start(configuration)
    #expect(access(configuration.socketPath + ".queue", F_OK) == 0)
    await daemon.shutDown()
    #expect(rename(configuration.stateDirectory, away) == 0)
    #expect(configuration.mark.remainingWait() == nil)
  }

  /// As after an update of apps and service, while the service of before has work.
  @Test(arguments: [true, false]) func aServiceThatIsTooOldEndsWhereItsProgramWasReplaced(isReplaced: Bool) async throws
  {
    var old = configuration
    old.settings.isProgramReplaced = { isReplaced }
    let daemon = try await TransferDaemon.start(old)
    let app = try await SocketClient.connect(configuration.socketPath)
    let newer = ProtocolVersions(minimum: 99, maximum: 100)
    guard case .refused(let refusal) = try await app.ask(.hello(Hello(versions: newer, client: "newer"))) else {
      Issue.record("greeted")
      return
    }
    #expect(refusal.reason == (isReplaced ? .shuttingDown : .incompatibleVersion))
    if isReplaced { await daemon.untilIdle() }
    #expect(daemon.handover == (isReplaced ? .programIsReplaced : nil))
    #expect(daemon.handover?.needsSuccessor ?? true, "the next service would have to be started by an app")
    app.close()
    await daemon.shutDown()
  }

  @Test func theServiceNotesWhereItsQueueIs() async throws {
    var noting = configuration
    noting.notePath = folder.path + "/home/place.json"
    for socket in ["/run/socket", "/run/other"] {
      noting.socketPath = folder.path + socket
      let daemon = try await successor(noting)
      let note = try #require(ServiceNote(at: folder.path + "/home/place.json"))
      #expect(note == ServiceNote(socket: noting.socketPath, stateFolder: configuration.stateDirectory))
      await daemon.shutDown()
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/home") == ["place.json"])
    // Without a place for the note the service serves.
    noting.notePath = "/dev/null/place.json"
    let last = try await successor(noting)
    await last.shutDown()
  }

  /// No process listens on a socket that was left there, so it is replaced.
  @Test func aSocketWithoutAListenerIsNoReplacement() async throws {
    let daemon = try await TransferDaemon.start(configuration)
    let other = folder.path + "/run/other"
    close(try UnixListener.bind(other))
    #expect(rename(other, configuration.socketPath) == 0)
    // The number of the file does not tell: a file system may give that of a removed file to the next one.
    try await eventually("the socket") { UnixListener.isAnswered(configuration.socketPath) }
    let client = try await client()
    #expect(daemon.handover == nil)
    client.close()
    await daemon.shutDown()
  }
}
