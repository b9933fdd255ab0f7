import GRDB
import Synchronization

@testable import TransferService

/// Counts the commits of a queue.
final class CommitCounter: TransactionObserver, Sendable {
  private let commits = Atomic<Int>(0)

  var count: Int { commits.load(ordering: .relaxed) }

  /// Counts while `body` runs.
  static func count(of store: TransferStore, _ body: () async throws -> Void) async throws -> Int {
    let counter = CommitCounter()
    try store.database.writeWithoutTransaction { $0.add(transactionObserver: counter) }
    try await body()
    try store.database.writeWithoutTransaction { $0.remove(transactionObserver: counter) }
    return counter.count
  }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ database: Database) { commits.add(1, ordering: .relaxed) }
  func databaseDidRollback(_ database: Database) {}
}
