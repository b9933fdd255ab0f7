import Foundation
import Logging
import LoopbackServer
import NIOPosix
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

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
}
