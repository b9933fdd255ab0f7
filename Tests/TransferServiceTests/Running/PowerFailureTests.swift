import Foundation
import Logging
import LoopbackServer
import NIOPosix
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// The power goes at each moment of a download at which something is done to the disk, and everything that was not
/// synced is lost.
@Suite struct PowerFailureTests {
  @Test(arguments: [5, (9 << 20) + 5] as [Int64]) func committedBytesSurviveAPowerFailure(size: Int64) async throws {
    let resource = FileResource(size: size)
    let server = try await LoopbackServer.start { resource.reply(to: $0) }
    var moment = 0
    while try await !isThrough(cutting: moment, server, resource) { moment += 1 }
    // Opening, writing, syncing, committing, renaming: there are many of them.
    #expect(moment > (size > JournalledPart.largestUncounted ? 10 : 5))
    await server.shutdown()
  }

  /// One life that the power failure ends, and one after it. Returns whether the download was over before it.
  private func isThrough(cutting moment: Int, _ server: LoopbackServer, _ resource: FileResource) async throws -> Bool {
    let folder = try TemporaryFolder()
    let disk = FaultyFileSystem()
    let id: TransferID
    do {
      let store = try TransferStore.open(in: folder.path)
      let files = TransferFiles(directory: folder.path, disk: disk)
      try files.createDirectories()
      let pool = NIOThreadPool(numberOfThreads: 2)
      pool.start()
      let runner = DownloadRunner(
        store: store, files: files, pool: pool, log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
      let app = try store.app(for: ExecutableIdentity(path: "/app", device: 1, inode: 2, owner: geteuid()))
      let session = try store.attach(app: app, identifier: "s", options: SessionOptions())
      id = try store.create(
        [.init(.download(server.url("/f").absoluteString), host: "h")], session: session.id, date: Date()
      ).ids[0]
      let stored = try #require(try store.transfer(id))
      disk.switchOff(afterOperations: moment)
      let outcomes = Recorder<DownloadOutcome>()
      let job = DownloadJob(stored, options: SessionOptions(), remainingTime: 600)
      _ = runner.start(job, report: { _ in }, ended: { outcomes.record($0) })
      let outcome = try await outcomes.next()
      guard disk.isOff else {
        guard case .finished = outcome else {
          Issue.record("with power it ended as \(outcome)")
          return true
        }
        runner.shutDown()
        try store.close()
        try await pool.shutdownGracefully()
        return true
      }
      let committed = try #require(try store.transfer(id)).head.committedOffset
      let real = LinuxFileSystem()
      let kept = try real.size(of: files.partial(id)) ?? real.size(of: files.complete(id)) ?? 0
      #expect(kept >= committed, "at moment \(moment), after \(disk.log)")
      runner.shutDown()
      try store.close()
      try await pool.shutdownGracefully()
    }
    try await withEngine(in: folder) { next in
      let client = next.client()
      try await client.begin()
      let download = try #require(try await client.nextEvent().download)
      #expect(
        resource.version.pattern.difference(toFile: download.path, count: resource.version.size) == nil,
        "at moment \(moment)")
    }
    return false
  }
}
