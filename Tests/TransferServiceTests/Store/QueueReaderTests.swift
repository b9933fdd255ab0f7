import Foundation
import GRDB
import SystemFakes
import Testing

@testable import TransferService

@Suite struct QueueReaderTests {
  private let folder: TemporaryFolder
  private var path: String { "\(folder.path)/\(TransferStore.fileName)" }

  init() throws { folder = try TemporaryFolder() }

  /// Leaves a queue whose last transaction is half on the disk: its file and its journal are as a process had them that was
  /// killed before the transaction ended.
  private func leaveTransaction() throws {
    let original = folder.path + "/original"
    let connection = try QueueFile.open(original)
    try TransferSchema.migrator.migrate(connection)
    try connection.writeWithoutTransaction { database in
      // More pages than the connection keeps in memory.
      try database.execute(sql: "PRAGMA cache_size = 1; BEGIN; CREATE TABLE later (content)")
      for _ in 0..<20 { try database.execute(sql: "INSERT INTO later VALUES (randomblob(10000))") }
      for suffix in ["", "-journal"] {
        try FileManager.default.copyItem(atPath: original + suffix, toPath: path + suffix)
      }
      try database.execute(sql: "ROLLBACK")
    }
    try connection.close()
  }

  @Test func aTransactionThatWasCutOffIsTakenBack() throws {
    try leaveTransaction()
    try QueueFile.check(path)
    #expect(!FileManager.default.fileExists(atPath: path + "-journal"))
    let tables = try QueueReader().withFile(path) {
      try String.fetchAll($0, sql: "SELECT name FROM \(QueueReader.schema).sqlite_master WHERE type = 'table'")
    }
    #expect(tables.contains("transfers") && !tables.contains("later"))
  }

  /// Else no service would start in this folder again.
  @Test func aQueueWithATransactionThatWasCutOffIsOpened() throws {
    try leaveTransaction()
    let store = try TransferStore.open(in: folder.path)
    #expect(store.quarantine == nil)
    try store.close()
  }

  /// The numbers of the text encoding and of the schema format in the first page.
  @Test(arguments: [(59, 2), (59, 3), (47, 9)] as [(Int, UInt8)])
  func aFirstPageOfAnotherFormIsDamage(offset: Int, byte: UInt8) throws {
    let store = try TransferStore.open(in: folder.path)
    try store.checkpoint()
    try store.close()
    var content = try Data(contentsOf: URL(fileURLWithPath: path))
    content[offset] = byte
    try content.write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: DatabaseError.self) { try QueueFile.check(path) }
    #expect(error?.isDamage == true)
    let next = try TransferStore.open(in: folder.path)
    #expect(next.quarantine != nil)
    try next.close()
  }

  @Test func twoFilesAreReadAtTheSameTime() throws {
    let paths = try ["a", "b"].map { name in
      let path = "\(folder.path)/\(name)"
      let connection = try QueueFile.open(path)
      try connection.write { try $0.execute(sql: "CREATE TABLE \(name) (content)") }
      try connection.close()
      return path
    }
    let reader = QueueReader()
    func names(_ database: Database) throws -> [String] {
      try String.fetchAll(database, sql: "SELECT name FROM \(QueueReader.schema).sqlite_master")
    }
    for _ in 0..<2 {
      try reader.withFile(paths[0]) { outer in
        let (other, own) = (try reader.withFile(paths[1], names), try names(outer))
        #expect(other == ["b"] && own == ["a"])
      }
    }
  }
}
