import Foundation
import GRDB
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// A queue of each earlier version of the service is opened by this one and used.
@Suite struct SchemaUpgradeTests {
  @Test func everyVersionHasASample() {
    let versions = TransferSchema.migrator.migrations
    #expect(Set(SchemaSample.rows.keys) == Set(versions), "add the rows of the new version to SchemaSample.rows")
  }

  @Test(arguments: SchemaSample.rows.keys.sorted()) func aQueueOfThatVersionIsUsed(version: String) throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/\(TransferStore.fileName)"
    let old = try QueueFile.open(path)
    try TransferSchema.migrator.migrate(old, upTo: version)
    try old.write { try $0.execute(sql: try #require(SchemaSample.rows[version])) }
    try old.close()

    let store = try TransferStore.open(in: folder.path)
    #expect(store.quarantine == nil)
    let session = try #require(try store.liveSessions().first)
    #expect(session.identifier == "s" && session.executable.path == "/app" && session.nextTaskIdentifier == 3)
    #expect(session.options.timeoutIntervalForRequest == 33)
    #expect(session.judgesConnections == (version == "3 judgements"))
    let head = try #require(try store.unfinishedHeads().first)
    #expect(head.id == 2 && head.committedOffset == 7 && head.state == .suspended)
    #expect(head.host == "h" && head.isHeld == version.hasPrefix("6 "))
    let suspended = try #require(try store.transfer(2))
    #expect(suspended.validator?.entityTag == "\"e\"" && suspended.description.request.url == "http://h/2")
    let hasSealedFields = version.hasPrefix("6 ")
    #expect(suspended.sealedRequest == (hasSealedFields ? Data([2, 1]) : nil))
    #expect(session.sealedFields == (hasSealedFields ? Data([2, 2]) : nil))
    let events = try store.events(of: session.id, after: 0, limit: 9)
    #expect(events.map(\.kind) == [.finishedDownloading, .completed])
    #expect(events.map(\.completion.countOfBytesReceived) == [5, 5])

    // It is written, too.
    let again = try store.attach(
      app: store.app(for: session.executable), identifier: "s", options: SessionOptions())
    #expect(again.id == session.id)
    let new = TransferStore.NewTransfer(.download("http://h/3", task: 3), host: "h")
    #expect(try store.create([new], session: session.id, date: Date()).ids == [3])
    #expect(try store.acknowledge([1, 2], session: session.id).told == [1])
    try store.finish(2, hasFile: false, completion: StoreFixture.completion(), date: Date())
    #expect(try store.events(of: session.id, after: 2, limit: 9).map(\.sequence) == [3])
    try store.close()
  }
}
