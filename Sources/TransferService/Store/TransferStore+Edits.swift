import Foundation
import GRDB
import TransferProtocol

extension TransferStore {
  /// The changes of a person to a transfer.
  package struct Edit: Sendable {
    package var description: TransferDescription
    /// The description's JSON.
    package var encoded: Data
    package var host: String
    /// The password of a new URL; `.some(nil)` removes that of the former one, nil leaves it.
    package var password: Data??
    /// The header fields and the body, which `description` is without then; nil leaves them.
    package var sealedRequest: Data??
    /// Whether the bytes that are there are of another resource.
    package var startsOver = false

    package init(description: TransferDescription, encoded: Data, host: String) {
      self.description = description
      self.encoded = encoded
      self.host = host
    }
  }

  /// - Parameters:
  ///   - room: is looked for first; nil where there is enough.
  ///   - ended: see `QueueDatabase.write`. With the bytes of the app's records, where room was looked for. A transfer that is
  ///     over is not changed, and that is an error.
  package func edit(
    _ transfer: TransferID, _ edit: Edit, room: QueueRoom? = nil,
    ended: @escaping @Sendable (Result<Int64?, any Error>) -> Void
  ) {
    let new = QueueChange.Edit(
      transfer: transfer, encoded: edit.encoded, priority: Double(edit.description.priority), host: edit.host,
      changesPassword: edit.password != nil, password: edit.password ?? nil, changesFields: edit.sealedRequest != nil,
      sealedRequest: edit.sealedRequest ?? nil, startsOver: edit.startsOver)
    let change: @Sendable (Database) throws -> Int64? = { database in
      let used = try room.map { try TransferStore.take($0, in: database) }
      guard try TransferStore.set(new, in: database) else { throw TransferStoreError.transferIsOver(transfer) }
      return used
    }
    database.write(change, recording: RecordedChange(.edit(new)), ended: ended)
  }

  /// - Parameter isReplay: Whether the edit is made once more in a new queue, which may have what happened after it: a server that has
  ///   acted on an upload since then has acted on it for ever.
  /// - Returns: whether there is such a transfer that is not over.
  @discardableResult
  static func set(_ edit: QueueChange.Edit, in database: Database, isReplay: Bool = false) throws -> Bool {
    try database.execute(
      sql: """
        UPDATE transfers SET description = :description, priority = :priority, host = :host,
          password = CASE WHEN :changesPassword THEN :password ELSE password END,
          sealedRequest = CASE WHEN :changesFields THEN :sealedRequest ELSE sealedRequest END
        WHERE id = :id AND state <> 'completed'
        """,
      arguments: [
        "description": edit.encoded, "priority": edit.priority, "host": edit.host,
        "changesPassword": edit.changesPassword, "password": edit.password, "changesFields": edit.changesFields,
        "sealedRequest": edit.sealedRequest, "id": edit.transfer,
      ])
    guard database.changesCount > 0 else { return false }
    if edit.startsOver { try forgetFormerBytes(of: edit.transfer, mayHaveArrived: isReplay, in: database) }
    return true
  }

  /// Received and sent bytes were those of another resource.
  private static func forgetFormerBytes(
    of transfer: TransferID, mayHaveArrived: Bool, in database: Database
  ) throws {
    try database.execute(sql: forgettingProgress, arguments: [transfer])
    if !mayHaveArrived { try setBegun(false, of: transfer, in: database) }
    try restartUpload(of: transfer, mayHaveArrived: mayHaveArrived, in: database)
  }

  /// Whether the user has paused it, which the state that its app gave it does not say.
  ///
  /// - Parameters:
  ///   - count: one that ran at so many crashes is let go on without them.
  ///   - ended: see `QueueDatabase.write`. A transfer that is over is not changed, and that is an error.
  package func setHeld(
    _ isHeld: Bool, of transfer: TransferID, forgettingCrashesFrom count: Int = .max,
    ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let change: @Sendable (Database) throws -> Void = { database in
      try TransferStore.setHeld(isHeld, of: transfer, forgettingCrashesFrom: count, in: database)
      guard database.changesCount > 0 else { throw TransferStoreError.transferIsOver(transfer) }
    }
    database.write(change, recording: RecordedChange(.held(isHeld, of: transfer)), ended: ended)
  }

  static func setHeld(
    _ isHeld: Bool, of transfer: TransferID, forgettingCrashesFrom count: Int, in database: Database
  ) throws {
    try database.execute(
      sql: """
        UPDATE transfers SET held = ?, crashes = CASE WHEN crashes >= ? THEN 0 ELSE crashes END
        WHERE id = ? AND state <> 'completed'
        """, arguments: [isHeld, isHeld ? .max : count, transfer])
  }
}
