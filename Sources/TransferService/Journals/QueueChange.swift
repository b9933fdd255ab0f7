import Foundation
import GRDB
import SystemServices
import TransferProtocol

/// A change of the queue, as it is written down beside it until a copy of the queue has it. Made once more it changes nothing, so
/// those that a copy has already may be made again, in the order in which they were made.
enum QueueChange: Codable, Sendable, Equatable {
  case state(String, of: [TransferID], started: [TransferID: DurableInstant])
  case held(Bool, of: TransferID)
  case description(Description)
  case edit(Edit)
  case password(Data, of: TransferID)
  case retry(Retry)
  case limits(LimitTable, of: Subject)
  /// The URL of a cancellation is that of its request.
  case ended([TransferID], TransferFailure, date: Date)

  struct Description: Codable, Sendable, Equatable {
    var transfer: TransferID
    var encoded: Data
    var priority: Double
    /// Since 1970.
    var earliestBegin: TimeInterval?
    var started: DurableInstant?
  }

  struct Edit: Codable, Sendable, Equatable {
    var transfer: TransferID
    var encoded: Data
    var priority: Double
    var host: String
    var changesPassword: Bool
    var password: Data?
    var changesFields: Bool
    var sealedRequest: Data?
    var startsOver: Bool
  }

  struct Retry: Codable, Sendable, Equatable {
    var transfer: TransferID
    var failures: Int
    var sentence: String?
    var instant: PlannedTry?
  }

  /// By names: a queue that is made anew may have given an app or a session another number.
  enum Subject: Codable, Sendable, Equatable {
    case transfer(TransferID)
    case session(String, app: String)
    case app(String)
    case service
  }

  /// Makes the change in a queue, which may not have what it is a change of. What is over stays as it is.
  func make(in database: Database) throws {
    switch self {
    case .state(let state, let transfers, let started):
      guard let state = StoredState(rawValue: state), state != .completed else { return }
      // Crashes that were counted meanwhile are not known. A task that was let go on begins without any.
      try TransferStore.setState(
        state, of: transfers, started: started, forgettingCrashesFrom: 1, in: database)
    case .held(let isHeld, let transfer):
      try TransferStore.setHeld(isHeld, of: transfer, forgettingCrashesFrom: 1, in: database)
    case .description(let description): try TransferStore.set(description, in: database)
    case .edit(let edit): try TransferStore.set(edit, in: database, isReplay: true)
    case .password(let sealed, let transfer): try TransferStore.setSealedPassword(sealed, of: transfer, in: database)
    case .retry(let retry): if try retry.isOfUse(in: database) { try TransferStore.set(retry, in: database) }
    case .limits(let table, let subject): try subject.set(table, in: database)
    case .ended(let transfers, let failure, let date):
      for transfer in transfers { try QueueChange.end(transfer, failure, date, in: database) }
    }
  }

  /// Its events are made with those of others.
  private static func end(
    _ transfer: TransferID, _ failure: TransferFailure, _ date: Date, in database: Database
  ) throws {
    let row = try Row.fetchOne(
      database, sql: "SELECT description FROM transfers WHERE id = ? AND state <> 'completed'", arguments: [transfer])
    guard let row else { return }
    var failure = failure
    if failure.url == nil, let description = Data.fromDatabaseValue(row["description"]) {
      failure.url = (try? MessageFraming.decode(TransferDescription.self, from: description))?.request.url
    }
    try database.execute(
      sql: """
        UPDATE transfers SET state = 'completed', finished = ?, failure = ?, nextAttempt = NULL, lastFailure = NULL,
          password = NULL
        WHERE id = ?
        """,
      arguments: [date.timeIntervalSince1970, JSONStored.encode(failure), transfer])
  }
}

extension QueueChange.Retry {
  fileprivate func isOfUse(in database: Database) throws -> Bool {
    try Bool.fetchOne(database, sql: "SELECT state <> 'completed' FROM transfers WHERE id = ?", arguments: [transfer])
      ?? false
  }
}

extension [QueueChange] {
  /// The changes as they are made once more. The bytes of a transfer are of one resource, so the edits up to the last one to that
  /// resource forget none: the bytes arrived after it, or before all of them. Where one of these edits is to another resource, all
  /// forget them: what is known of the bytes may be older than that edit, and the part may have bytes of the other resource.
  ///
  /// - Parameter resource: the URL that the bytes of a transfer are from; nil where it is not known.
  func sparingBytes(from resource: (TransferID) throws -> String?) rethrows -> [QueueChange] {
    var resources: [TransferID: String?] = [:]
    // Of each transfer, the edits of its resource that no edit to another one came before.
    var spared: [TransferID: [Int]] = [:]
    var withOthers: Set<TransferID> = []
    for index in indices {
      guard case .edit(let edit) = self[index] else { continue }
      let known = try resources[edit.transfer] ?? resource(edit.transfer)
      resources[edit.transfer] = .some(known)
      guard let known else { continue }
      if !edit.isTo(known) {
        if edit.startsOver { withOthers.insert(edit.transfer) }
      } else if withOthers.contains(edit.transfer) {
        spared[edit.transfer] = nil
      } else {
        spared[edit.transfer, default: []].append(index)
      }
    }
    var changes = self
    for index in spared.values.joined() {
      guard case .edit(var edit) = self[index] else { continue }
      edit.startsOver = false
      changes[index] = .edit(edit)
    }
    return changes
  }
}

extension QueueChange.Edit {
  fileprivate func isTo(_ url: String) -> Bool {
    guard let description = try? MessageFraming.decode(TransferDescription.self, from: encoded) else { return false }
    return TransferEngine.isSameResource(description.request.url, url)
  }
}

extension QueueChange.Subject {
  fileprivate func set(_ table: LimitTable, in database: Database) throws {
    switch self {
    case .transfer(let id): try TransferStore.setLimits(table, of: .transfer(id), in: database)
    case .service: try TransferStore.setLimits(table, of: .service, in: database)
    case .app(let path):
      try TransferStore.setLimits(table, of: .app(try QueueChange.Subject.app(path, in: database)), in: database)
    case .session(let identifier, let path):
      let app = try QueueChange.Subject.app(path, in: database)
      // As where its name alone is left: the app may judge connections, so none is made without it.
      try database.execute(
        sql: "INSERT OR IGNORE INTO sessions (app, identifier, options, judgesConnections) VALUES (?, ?, X'', 1)",
        arguments: [app, identifier])
      let id = try Int64.fetchOne(
        database, sql: "SELECT id FROM sessions WHERE app = ? AND identifier = ?", arguments: [app, identifier])
      if let id { try TransferStore.setLimits(table, of: .session(id), in: database) }
    }
  }

  private static func app(_ path: String, in database: Database) throws -> AppID {
    try database.execute(
      sql: "INSERT INTO apps (path, executable) VALUES (?, X'') ON CONFLICT (path) DO NOTHING", arguments: [path])
    let id = try Int64.fetchOne(database, sql: "SELECT id FROM apps WHERE path = ?", arguments: [path])
    guard let id else { throw TransferStoreError.noSuchSession }
    return id
  }
}

/// A change that is written down once it is in the queue.
struct RecordedChange: Sendable {
  /// The end of a change waits until its record outlives this.
  enum Wait: Sendable, Comparable {
    case nothing
    case theServiceIsKilled
    case thePowerFails
  }

  /// A change that counts, and whose caller writes down what has to be known of it.
  static let byItsCaller = RecordedChange(awaits: .nothing) { [] }

  let awaits: Wait
  /// Called once the change is in the queue.
  let content: @Sendable () throws -> [QueueChange]

  init(_ change: QueueChange, awaits: Wait = .thePowerFails) {
    self.awaits = awaits
    content = { [change] }
  }

  init(awaits: Wait = .thePowerFails, content: @escaping @Sendable () throws -> [QueueChange]) {
    self.awaits = awaits
    self.content = content
  }
}
