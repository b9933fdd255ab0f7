import Foundation
import Logging
import LoopbackServer
import NIOPosix
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import TransferService

/// Journals are written one after the other, and nothing else waits for them.
@Suite struct JournalKeeperTests {
  private let fixture: StoreFixture
  private let disk = HeldFileSystem(holding: "/journals/")
  private let files: TransferFiles
  private let keeper: JournalKeeper

  init() throws {
    fixture = try StoreFixture()
    files = TransferFiles(directory: fixture.folder.path, disk: disk)
    try files.createDirectories()
    let log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    let key = QueueKey(ofQueue: "tests", file: fixture.folder.path + "/key") { nil }
    keeper = JournalKeeper(store: fixture.store, files: files, key: key, bootID: "boot", log: log)
  }

  private func end() throws {
    disk.release()
    keeper.drain()
    try fixture.store.close()
  }

  /// The bytes of a transfer are forgotten while its journal is being written: no journal is left that promises them.
  @Test func forgottenBytesStayForgotten() async throws {
    let id = try fixture.create(1, session: fixture.session().id)[0]
    keeper.keep(id)
    try await disk.isHeld.wait(within: patience)
    async let forgotten: Void = keeper.forgetBytes(of: id)
    let isEarly = Task { [keeper] in await keeper.kept(id, complete: 7) }
    disk.release()
    try await forgotten
    await isEarly.value
    keeper.keep(id)
    try await keeper.forgetBytes(of: id)
    #expect(try files.journals.read(id) == nil)
    try end()
  }

  @Test func runsAndTheEngineDoNotWaitForJournals() async throws {
    let ids = try fixture.create(40, session: fixture.session().id)
    let pool = NIOThreadPool(numberOfThreads: 1)
    pool.start()
    let runner = DownloadRunner(
      store: fixture.store, files: files, pool: pool, log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() },
      journals: keeper)
    for id in ids { runner.keepUpload(id) }
    for id in ids { runner.renewRecord(of: id) }
    try await disk.isHeld.wait(within: patience)
    #expect(try await pool.runIfActive { true })
    disk.release()
    // Each is behind what was asked for its transfer before.
    for id in ids { await keeper.kept(id) }
    #expect(try files.journals.transfers() == ids)
    runner.shutDown()
    try await pool.shutdownGracefully()
    try end()
  }
}
