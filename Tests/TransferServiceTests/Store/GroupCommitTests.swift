import Dispatch
import Foundation
import GRDB
import LoopbackServer
import Synchronization
import Testing

@testable import TransferService

@Suite struct GroupCommitTests {
  private struct Refused: Error {}

  private let folder: TemporaryFolder
  private let pool: DatabasePool

  init() throws {
    folder = try TemporaryFolder()
    pool = try DatabasePool(path: folder.path + "/queue")
    try pool.write { try $0.execute(sql: "CREATE TABLE numbers (number INTEGER, content BLOB)") }
  }

  private func commits(makeRoom: @escaping @Sendable () -> Bool = { false }) -> GroupCommit {
    GroupCommit(pool, makeRoom: makeRoom)
  }

  private var numbers: [Int] {
    get throws { try pool.read { try Int.fetchAll($0, sql: "SELECT number FROM numbers ORDER BY rowid") } }
  }

  private static func insert(_ number: Int, bytes: Int = 0) -> @Sendable (Database) throws -> Void {
    { try $0.execute(sql: "INSERT INTO numbers VALUES (?, zeroblob(?))", arguments: [number, bytes]) }
  }

  /// Adds changes while another one waits for the disk, and returns how they ended once all have.
  private func together(
    _ commits: GroupCommit, _ changes: [@Sendable (Database) throws -> Void], recording record: RecordedChange? = nil
  ) async throws -> [(any Error)?] {
    let (disk, isBusy) = (DispatchSemaphore(value: 0), Gate())
    let ended = Mutex<[(any Error)?]>([])
    commits.add { _ in
      isBusy.open()
      disk.wait()
    } ended: { _ in
    }
    defer { disk.signal() }
    try await isBusy.wait(within: patience)
    for change in changes { commits.add(change, recording: record) { error in ended.withLock { $0.append(error) } } }
    disk.signal()
    await withCheckedContinuation { done in commits.whenEnded { done.resume() } }
    return ended.withLock { $0 }
  }

  @Test func changesThatWaitTogetherAreOneCommitInOrder() async throws {
    let commits = commits()
    let observer = CommitCounter()
    try await pool.writeWithoutTransaction { $0.add(transactionObserver: observer) }
    let ended = try await together(commits, (1...20).map { Self.insert($0) })
    #expect(ended.count == 20 && ended.allSatisfy { $0 == nil })
    #expect(try numbers == Array(1...20))
    // One more is the change that they have waited for.
    #expect(observer.count <= 2)
  }

  @Test func aChangeThatFailsTakesNothingFromOthers() async throws {
    let failing: @Sendable (Database) throws -> Void = {
      try Self.insert(2)($0)
      throw Refused()
    }
    let ended = try await together(commits(), [Self.insert(1), failing, Self.insert(3)])
    #expect(ended.map { $0 is Refused } == [false, true, false])
    #expect(try numbers == [1, 3])
  }

  /// One that fails, or has no record, does not count.
  @Test func recordedChangesThatWaitTogetherCountOnce() async throws {
    let commits = GroupCommit(
      pool,
      counting: { database in
        try Self.insert(100)(database)
        return try Int64.fetchOne(database, sql: "SELECT COUNT(*) FROM numbers WHERE number = 100")
      }, makeRoom: { false })
    let failing: @Sendable (Database) throws -> Void = { _ in throw Refused() }
    let record = RecordedChange(.held(true, of: 1))
    _ = try await together(commits, [Self.insert(1), Self.insert(2)])
    _ = try await together(commits, [failing], recording: record)
    _ = try await together(commits, [failing, failing], recording: record)
    #expect(try numbers == [1, 2] && commits.lastCounted == nil)
    _ = try await together(commits, [Self.insert(3), failing, Self.insert(4)], recording: record)
    #expect(try numbers == [1, 2, 3, 4, 100] && commits.lastCounted == 1)
    _ = try await together(commits, [Self.insert(5)], recording: record)
    #expect(try numbers == [1, 2, 3, 4, 100, 5, 100] && commits.lastCounted == 2)
  }

  /// SQLite ends the whole transaction when the disk is full.
  @Test func aChangeThatNeedsMuchSpaceDoesNotHoldUpSmallOnes() async throws {
    try await pool.writeWithoutTransaction { database in
      let count = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
      _ = try Int.fetchOne(database, sql: "PRAGMA max_page_count = \(count + 4)")
    }
    let asked = Atomic<Int>(0)
    let commits = commits {
      asked.add(1, ordering: .relaxed)
      return false
    }
    let ended = try await together(commits, [Self.insert(1), Self.insert(2, bytes: 1 << 20), Self.insert(3)])
    #expect(ended.map { ($0 as? DatabaseError)?.resultCode == .SQLITE_FULL } == [false, true, false])
    #expect(try numbers == [1, 3])
    #expect(asked.load(ordering: .relaxed) == 1)
  }

  @Test func aChangeIsMadeOnceThereIsRoom() async throws {
    // As a full disk does it.
    let isFull = Mutex(true)
    let commits = commits {
      isFull.withLock { $0 = false }
      return true
    }
    let change: @Sendable (Database) throws -> Void = {
      guard !isFull.withLock({ $0 }) else { throw DatabaseError(resultCode: .SQLITE_FULL) }
      try Self.insert(7)($0)
    }
    let ended = try await together(commits, [change])
    #expect(ended.count == 1 && ended.allSatisfy { $0 == nil })
    #expect(try numbers == [7])
  }
}
