import Dispatch
import GRDB
import Synchronization

/// Writes to the queue, in the order in which they come. Those that wait at the same time are one transaction, so that
/// they wait for the disk once. Callable from any thread.
///
/// Each is in a savepoint of its own: one that fails takes nothing from the others. Where the transaction as a whole
/// fails, each is tried once more in a transaction of its own, so that one that needs much space does not keep a small
/// one from being written.
final class GroupCommit: Sendable {
  private struct Job: Sendable {
    let work: @Sendable (Database) throws -> Void
    let record: RecordedChange?
    let ended: @Sendable ((any Error)?) -> Void
  }

  private let pool: DatabasePool
  private let queue = DispatchQueue(label: "transfer-store.commits", qos: .utility)
  private let waiting = Mutex<[Job]>([])
  private let recorder = Mutex<(@Sendable ([RecordedChange]) -> Void)?>(nil)
  private let counted = Mutex<Int64?>(nil)
  /// Called in each transaction with recorded changes. Returns its number.
  private let count: @Sendable (Database) throws -> Int64?
  /// Called when the disk is full; true where there is space now.
  private let makeRoom: @Sendable () -> Bool

  init(
    _ pool: DatabasePool, counting count: @escaping @Sendable (Database) throws -> Int64? = { _ in nil },
    makeRoom: @escaping @Sendable () -> Bool
  ) {
    self.pool = pool
    self.count = count
    self.makeRoom = makeRoom
  }

  /// - Parameter recorder: Called with changes that are in the queue, in their order, before they count as ended.
  func recordChanges(_ recorder: @escaping @Sendable ([RecordedChange]) -> Void) {
    self.recorder.withLock { $0 = recorder }
  }

  /// The number of the last transaction with recorded changes that is on the disk; nil before the first one.
  var lastCounted: Int64? { counted.withLock { $0 } }

  /// - Parameters:
  ///   - record: is given to the recorder, where there is one.
  ///   - ended: called once, on any thread, when the change is on the disk, or was not made.
  func add(
    _ work: @escaping @Sendable (Database) throws -> Void, recording record: RecordedChange? = nil,
    ended: @escaping @Sendable ((any Error)?) -> Void
  ) {
    // With the lock: what is added later has its turn later.
    waiting.withLock { jobs in
      jobs.append(Job(work: work, record: record, ended: ended))
      if jobs.count == 1 { queue.async { self.commit() } }
    }
  }

  /// Calls back when everything that was added before has ended.
  func whenEnded(_ done: @escaping @Sendable () -> Void) { queue.async(execute: done) }

  /// Returns when everything that was added before has ended.
  func drain() { queue.sync {} }

  private func commit() {
    dispatchPrecondition(condition: .onQueue(queue))
    let jobs = waiting.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    let errors = jobs.count > 1 ? try? together(jobs) : nil
    guard let errors else {
      for job in jobs {
        let error = alone(job)
        record([(job, error)])
        job.ended(error)
      }
      return
    }
    let outcomes = Array(zip(jobs, errors))
    record(outcomes)
    for (job, error) in outcomes { job.ended(error) }
  }

  /// Those that were made together are one record, and wait for the disk once.
  private func record(_ outcomes: [(job: Job, error: (any Error)?)]) {
    let changes = outcomes.compactMap { $0.error == nil ? $0.job.record : nil }
    guard !changes.isEmpty, let recorder = recorder.withLock({ $0 }) else { return }
    recorder(changes)
  }

  /// Throws when none of them was written.
  private func together(_ jobs: [Job]) throws -> [(any Error)?] {
    var errors: [(any Error)?] = []
    let number = try pool.write { database in
      errors = try jobs.map { job in
        do {
          try database.inSavepoint {
            try job.work(database)
            return .commit
          }
          return nil
        } catch {
          // SQLite rolls the whole transaction back after some errors.
          guard database.isInsideTransaction, (error as? DatabaseError)?.isOfTheMachine != true else { throw error }
          return error
        }
      }
      let isRecorded = zip(jobs, errors).contains { $0.record != nil && $1 == nil }
      return isRecorded ? try count(database) : nil
    }
    noteCount(number)
    return errors
  }

  private func alone(_ job: Job) -> (any Error)? {
    func write() throws {
      let number = try pool.write { database in
        try job.work(database)
        return job.record == nil ? nil : try count(database)
      }
      noteCount(number)
    }
    do {
      do { try write() } catch let error as DatabaseError where error.isShortOfSpace {
        guard makeRoom() else { throw error }
        try write()
      }
      return nil
    } catch { return error }
  }

  private func noteCount(_ number: Int64?) {
    guard let number else { return }
    counted.withLock { $0 = number }
  }
}
