import Dispatch
import GRDB
import Synchronization

/// The connections to the queue. Notices when SQLite finds damage, in whichever statement that is.
package final class QueueDatabase: Sendable {
  private let pool: DatabasePool
  private let commits: GroupCommit
  private let state = Mutex(State.sound(nil))

  private enum State {
    case sound((@Sendable (String) -> Void)?)
    case damaged(String)
  }

  /// - Parameter makeRoom: Called when the disk is full; true where there is space now.
  init(_ pool: DatabasePool, makeRoom: @escaping @Sendable () -> Bool = { false }) {
    self.pool = pool
    commits = GroupCommit(pool, counting: { try QueueNumbers.countChanges(in: $0) }, makeRoom: makeRoom)
  }

  package func read<Value>(_ work: (Database) throws -> Value) throws -> Value {
    try watching { try pool.read(work) }
  }

  /// All or nothing, and on the disk when the call returns. Shares its transaction with others that wait meanwhile.
  package func write<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) throws -> Value {
    let done = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<Value, any Error>?>(nil)
    write(work) { result in
      outcome.withLock { $0 = result }
      done.signal()
    }
    done.wait()
    return try outcome.withLock { $0 }.unwrapped().get()
  }

  /// The same without waiting for the disk. The changes are made in the order of the calls, from whichever threads.
  ///
  /// - Parameter ended: called once, on another thread, when the change is on the disk, or was not made.
  package func write<Value: Sendable>(
    _ work: @escaping @Sendable (Database) throws -> Value,
    ended: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    write(work, recording: nil, ended: ended)
  }

  /// - Parameter record: is written down a second time before the change counts as ended.
  func write<Value: Sendable>(
    _ work: @escaping @Sendable (Database) throws -> Value, recording record: RecordedChange?,
    ended: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let value = Mutex<Value?>(nil)
    commits.add(
      { database in
        let new = try work(database)
        value.withLock { $0 = new }
      }, recording: record
    ) { error in
      guard let error else { return ended(Result { try value.withLock { $0 }.unwrapped() }) }
      if let error = error as? DatabaseError, error.isDamage { self.found("\(error)") }
      ended(.failure(error))
    }
  }

  /// - Parameter recorder: see `GroupCommit`.
  func recordChanges(_ recorder: @escaping @Sendable ([RecordedChange]) -> Void) { commits.recordChanges(recorder) }

  /// The number of the last transaction of this life with recorded changes; nil before the first one.
  var lastRecordedChanges: Int64? { commits.lastCounted }

  /// Calls back when every change that was asked for before is on the disk, or was not made.
  package func whenWritten(_ done: @escaping @Sendable () -> Void) { commits.whenEnded(done) }

  package func writeWithoutTransaction<Value>(_ work: (Database) throws -> Value) throws -> Value {
    try watching { try pool.writeWithoutTransaction(work) }
  }

  /// Does something else with the file of the queue, which may find damage too.
  func watching<Value>(_ work: () throws -> Value) throws -> Value {
    do { return try work() } catch let error as DatabaseError where error.isDamage {
      found("\(error)")
      throw error
    }
  }

  /// Over the connection that writes: it is open as long as the queue is, whatever became of its file. Writing waits
  /// meanwhile: a queue whose file is there is copied from that.
  func copy(to path: String) throws { try watching { try pool.vacuum(into: path) } }

  func close() throws {
    commits.drain()
    try pool.close()
  }

  // MARK: Damage

  /// The damage that was found first; nil where there is none.
  package var damage: String? {
    state.withLock { if case .damaged(let reason) = $0 { reason } else { nil } }
  }

  /// - Parameter handler: Called once, on the thread that finds damage; at once, where that has happened already.
  package func whenDamaged(_ handler: @escaping @Sendable (String) -> Void) {
    let known: String? = state.withLock { state in
      if case .damaged(let reason) = state { return reason }
      state = .sound(handler)
      return nil
    }
    if let known { handler(known) }
  }

  /// From here on the queue counts as damaged.
  func found(_ reason: String) {
    let handler = state.withLock { state -> (@Sendable (String) -> Void)? in
      guard case .sound(let handler) = state else { return nil }
      state = .damaged(reason)
      return handler
    }
    handler?(reason)
  }
}

extension DatabaseError {
  /// The file itself is wrong: trying again changes nothing.
  var isDamage: Bool { [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT].contains(resultCode) }

  /// The machine could not do it now. That says nothing against the file.
  var isOfTheMachine: Bool {
    [
      .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_NOMEM, .SQLITE_CANTOPEN, .SQLITE_BUSY, .SQLITE_PERM, .SQLITE_READONLY,
      .SQLITE_INTERRUPT, .SQLITE_AUTH,
    ].contains(resultCode)
  }
}

extension Optional where Wrapped: Sendable {
  /// A change that was made has a value.
  fileprivate func unwrapped() throws -> Wrapped {
    guard let self else { throw DatabaseError(resultCode: .SQLITE_INTERNAL, message: "a change without a value") }
    return self
  }
}
