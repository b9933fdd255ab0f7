import GRDB
import Synchronization
import SystemServices

/// The connections to the queue. Notices when SQLite finds damage, in whichever statement that is.
package final class QueueDatabase: Sendable {
  private let pool: DatabasePool
  private let state = Mutex(State.sound(nil))

  private enum State {
    case sound((@Sendable (String) -> Void)?)
    case damaged(String)
  }

  init(_ pool: DatabasePool) { self.pool = pool }

  package func read<Value>(_ work: (Database) throws -> Value) throws -> Value {
    try watching { try pool.read(work) }
  }

  /// One transaction, which is on the disk when the call returns.
  package func write<Value>(_ work: (Database) throws -> Value) throws -> Value {
    try watching { try pool.write(work) }
  }

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

  /// Over a connection of its own, so that writing goes on meanwhile. Where the file was removed, over the one that writes:
  /// that is open as long as the queue is.
  func copy(to path: String) throws {
    try watching {
      guard try LinuxFileSystem().size(of: pool.path) != nil else { return try pool.vacuum(into: path) }
      var configuration = Configuration()
      configuration.label = "queue copy"
      configuration.readonly = true
      configuration.busyMode = .timeout(5)
      let reader = try DatabaseQueue(path: pool.path, configuration: configuration)
      defer { try? reader.close() }
      try reader.vacuum(into: path)
    }
  }

  func close() throws { try pool.close() }

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
