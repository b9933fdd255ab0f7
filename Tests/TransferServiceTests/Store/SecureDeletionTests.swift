import Foundation
import GRDB
import Testing
import TransferProtocol

@testable import TransferService

/// What is forgotten is not in the file of the queue any more.
@Suite struct SecureDeletionTests {
  private let fixture: StoreFixture
  private var path: String { fixture.folder.path + "/" + TransferStore.fileName }
  /// A value that is as long as a page, and one that shares its page.
  private static let secrets = [String(repeating: "x", count: 8_192) + "long-secret-4711", "short-secret-4711"]

  init() throws { fixture = try StoreFixture() }

  private func bytes() throws -> Data {
    try fixture.store.checkpoint()
    return try Data(contentsOf: URL(fileURLWithPath: path))
  }

  private func contains(_ text: String) throws -> Bool { try bytes().range(of: Data(text.suffix(10).utf8)) != nil }

  @Test func theConnectionThatWritesOverwritesWhatItFrees() throws {
    let setting = try fixture.store.database.writeWithoutTransaction {
      try Int.fetchOne($0, sql: "PRAGMA secure_delete")
    }
    #expect(setting == 1)
  }

  @Test(arguments: secrets) func headersOfATransferThatIsWhollyToldAreGone(secret: String) throws {
    let store = fixture.store
    let session = try fixture.session()
    var description = TransferDescription.download("http://h/", task: 1)
    description.request.headers = [HeaderField("Authorization", secret)]
    let new = TransferStore.NewTransfer(description, host: "http://h:80")
    let transfer = try #require(try store.create([new], session: session.id, date: Date()).ids.first)
    #expect(try contains(secret))
    try store.finish(transfer, hasFile: false, completion: StoreFixture.completion(), date: Date())
    let sequences = try store.events(of: session.id, after: 0, limit: 10).map(\.sequence)
    _ = try store.acknowledge(sequences, session: session.id)
    #expect(try !contains(secret))
  }

  /// An earlier version of the service let SQLite leave such values in the file.
  @Test(arguments: secrets) func remainsOfEarlierVersionsAreClearedOnce(secret: String) throws {
    let session = try fixture.session()
    let ids = try fixture.create(3, session: session.id)
    try fixture.store.database.writeWithoutTransaction { database in
      _ = try Int.fetchOne(database, sql: "PRAGMA secure_delete = OFF")
      try database.execute(
        sql: """
          INSERT INTO apps (path, executable) VALUES ('\(secret)', x'00');
          DELETE FROM apps WHERE path = '\(secret)';
          PRAGMA user_version = 0;
          """)
    }
    #expect(try contains(secret), "the test leaves nothing to clear")
    try fixture.store.close()
    let next = try TransferStore.open(in: fixture.folder.path)
    try next.checkpoint()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data(secret.suffix(10).utf8)) == nil)
    #expect(try next.unfinishedHeads().map(\.id) == ids)
    #expect(try next.database.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 1)
  }
}
