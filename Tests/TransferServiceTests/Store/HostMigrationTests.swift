import Foundation
import GRDB
import Synchronization
import Testing

@testable import TransferService

/// The version of the tables with which `host` became the name of a host alone.
@Suite struct HostMigrationTests {
  private static let version = "5 first numbers"

  private let folder: TemporaryFolder
  private let old: DatabaseQueue

  init() throws {
    folder = try TemporaryFolder()
    old = try QueueFile.open("\(folder.path)/\(TransferStore.fileName)")
    try TransferSchema.migrator.migrate(old, upTo: Self.version)
    try old.write { try $0.execute(sql: try #require(SchemaSample.rows[Self.version])) }
  }

  private func hosts() throws -> [DatabaseValue] {
    try old.read { try DatabaseValue.fetchAll($0, sql: "SELECT host FROM transfers ORDER BY id") }
  }

  /// A statement for each host would read the whole table as often as there are hosts.
  @Test func manyHostsAreOneStatement() throws {
    try old.write { database in
      try database.execute(
        sql: """
          INSERT INTO transfers (id, session, taskIdentifier, token, state, host, priority, description, created)
          WITH RECURSIVE numbers (n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20002)
          SELECT n, 1, n, 'token-' || n, 'active', 'https://H' || n || '.example:443', 0.5, X'', 0.0 FROM numbers
          """)
    }
    let statements = Mutex<[String]>([])
    old.writeWithoutTransaction { database in
      database.trace { event in
        if case .statement(let statement) = event { statements.withLock { $0.append(statement.sql) } }
      }
    }
    try TransferSchema.migrator.migrate(old)
    let updates = statements.withLock { $0.filter { $0.hasPrefix("UPDATE transfers SET host") } }
    #expect(updates.count == 1)
    #expect(statements.withLock { $0.count } < 200)
    let hosts = try hosts().compactMap { String.fromDatabaseValue($0) }
    #expect(hosts.count == 20_002 && hosts[0] == "h" && hosts[2] == "h3.example" && hosts.last == "h20002.example")
  }

  @Test(arguments: ["X'68FF3A2F2FFE'", "7", "''", "'h'", "CAST(X'FF3A2F2FFE' AS TEXT)"])
  func anOddHostDoesNotStopTheService(host: String) throws {
    try old.write { try $0.execute(sql: "UPDATE transfers SET host = \(host) WHERE id = 2") }
    try TransferSchema.migrator.migrate(old)
    #expect(try hosts().first == "h".databaseValue)
    try old.close()
    let store = try TransferStore.open(in: folder.path)
    _ = try store.mendDamagedRows()
    #expect(try store.unfinishedHeads().map(\.id) == [2])
    try store.close()
  }
}
