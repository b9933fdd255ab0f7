import Foundation
import HTTPSemantics
import Logging
import LoopbackServer
import NIOPosix
import Synchronization
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService
@testable import URLLoadingSystem

/// What tries have in common.
@Suite struct DownloadRunnerTests {
  private static let pool: NIOThreadPool = {
    let pool = NIOThreadPool(numberOfThreads: 2)
    pool.start()
    return pool
  }()

  /// The second transfer does not ask the proxy again that did not answer the first.
  @Test func aProxyThatDoesNotWorkIsRememberedFromOneTryToTheNext() async throws {
    let dead = try await LoopbackServer.startRaw { $0.closeAbruptly() }
    let proxy = try await LoopbackServer.startRaw { connection in
      guard try await connection.readHead().hasPrefix("CONNECT one.example:80 ") else { return }
      try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
      _ = try await connection.readHead()
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    }
    var options = SessionOptions()
    options.proxyConfigurations = [
      ProxyDescription(
        kind: .httpConnect, endpoint: .host("127.0.0.1", port: UInt16(dead.port)), allowFailover: true),
      ProxyDescription(kind: .httpConnect, endpoint: .host("127.0.0.1", port: UInt16(proxy.port))),
    ]

    let folder = try TemporaryFolder()
    let store = try TransferStore.open(in: folder.path)
    let files = TransferFiles(directory: folder.path, disk: FaultyFileSystem())
    try files.createDirectories()
    let runner = DownloadRunner(
      store: store, files: files, pool: Self.pool, log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
    let app = try store.app(for: ExecutableIdentity(path: "/app", device: 1, inode: 1, owner: 1))
    let session = try store.attach(app: app, identifier: "s", options: options)
    for task in 1...2 {
      let id = try store.create(
        [.init(.download("http://one.example/\(task)", task: task), host: "h")], session: session.id, date: Date()
      ).ids[0]
      let stored = try #require(try store.transfer(id))
      let outcomes = Recorder<DownloadOutcome>()
      _ = runner.start(
        DownloadJob(stored, options: options, remainingTime: 600), report: { _ in }, ended: { outcomes.record($0) })
      guard case .finished(_, let count) = try await outcomes.next() else {
        Issue.record("transfer \(task) did not finish: \(outcomes.all)")
        return
      }
      #expect(count == 2)
    }
    #expect(dead.connectionCount == 1 && proxy.connectionCount == 2)
    runner.shutDown()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
    await dead.shutdown()
  }

  // MARK: Memory

  /// It takes so long that it pays; a service that loads many small files would read its code again and again.
  @Test(arguments: [(JournalledPart.largeBody, 1), (JournalledPart.largeBody - 1, 0)])
  func memoryIsGivenBackWhenALargeBodyBegins(total: Int64, releases: Int) async throws {
    let server = try await LoopbackServer.startRaw { connection in
      _ = try await connection.readHead()
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\nConnection: close\r\n\r\nfirst")
    }
    let folder = try TemporaryFolder()
    let store = try TransferStore.open(in: folder.path)
    let disk = FaultyFileSystem()
    disk.setFreeSpace(2 * JournalledPart.largeBody)
    let files = TransferFiles(directory: folder.path, disk: disk)
    try files.createDirectories()
    let count = Mutex(0)
    let runner = DownloadRunner(
      store: store, files: files, pool: Self.pool, log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() },
      releasesMemory: { count.withLock { $0 += 1 } })
    // The server closes before the rest.
    _ = try await outcome(
      of: "http://127.0.0.1:\(server.port)/", task: 1, runner, store, options: SessionOptions())
    #expect(count.withLock(\.self) == releases)
    runner.shutDown()
    await server.shutdown()
  }

  // MARK: Hosts that are loaded over TLS only

  private func outcome(
    of url: String, task: Int, _ runner: DownloadRunner, _ store: TransferStore, options: SessionOptions
  ) async throws -> DownloadOutcome {
    let app = try store.app(for: ExecutableIdentity(path: "/app", device: 1, inode: 1, owner: 1))
    let session = try store.attach(app: app, identifier: "s", options: options)
    let id = try store.create([.init(.download(url, task: task), host: "localhost")], session: session.id, date: Date())
      .ids[0]
    let stored = try #require(try store.transfer(id))
    let outcomes = Recorder<DownloadOutcome>()
    _ = runner.start(
      DownloadJob(stored, options: options, remainingTime: 600), report: { _ in }, ended: { outcomes.record($0) })
    return try await outcomes.next()
  }

  /// As for a session of the app: its file says so, also where it came to say so after a first try, and so do responses
  /// that the session's transfers get.
  @Test(arguments: [true, false]) func hostsThatTheAppKnowsAreLoadedOverTLS(byFile: Bool) async throws {
    let identity = try TestCertificates.shared().localhost
    let server = try await LoopbackServer.start(tls: ServerTLS(identity)) { request in
      .ok("in", fields: request.path == "/says" ? [("Strict-Transport-Security", "max-age=3600")] : [])
    }
    let folder = try TemporaryFolder()
    let file = HSTSFile(path: folder.path + "/hsts.json")
    var options = SessionOptions()
    if byFile { options.hstsFile = folder.path + "/hsts.json" }
    let store = try TransferStore.open(in: folder.path)
    let files = TransferFiles(directory: folder.path, disk: FaultyFileSystem())
    try files.createDirectories()
    let runner = DownloadRunner(
      store: store, files: files, pool: Self.pool, log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() },
      trustRoots: .file(identity.authorityFile))
    func isLoaded(_ path: String, task: Int, secure: Bool = false) async throws -> Bool {
      let url = "http\(secure ? "s" : "")://localhost:\(server.port)\(path)"
      if case .finished = try await outcome(of: url, task: task, runner, store, options: options) { return true }
      return false
    }
    // Nothing is known yet, and the server does not understand plain HTTP.
    #expect(try await !isLoaded("/1", task: 1))
    if byFile {
      let policy = try #require(StrictTransportSecurity(parsing: "max-age=3600"))
      await file.change { _ = $0.note(policy, from: "localhost", at: Int64(Date().timeIntervalSince1970)) }
    } else {
      #expect(try await isLoaded("/says", task: 2, secure: true))
    }
    // The file of the app is looked at every 100 ms at most.
    var task = 3
    try await eventually("the file to be looked at again") {
      task += 1
      return try await isLoaded("/2", task: task)
    }
    #expect(server.requests.map(\.path) == (byFile ? ["/2"] : ["/says", "/2"]))
    runner.shutDown()
    await server.shutdown()
  }
}
