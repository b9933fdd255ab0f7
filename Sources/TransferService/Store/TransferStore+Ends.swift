import Foundation
import GRDB
import TransferProtocol

extension TransferStore {
  /// How a transfer ended.
  package struct End: Sendable {
    package var transfer: TransferID
    package var hasFile: Bool
    package var completion: Completion
    /// Whether its response was read from the queue. One that an earlier version has left there in clear stays readable.
    package var responseIsInQueue = false

    package init(transfer: TransferID, hasFile: Bool, completion: Completion, responseIsInQueue: Bool = false) {
      self.transfer = transfer
      self.hasFile = hasFile
      self.completion = completion
      self.responseIsInQueue = responseIsInQueue
    }
  }

  /// The part of a transfer that is told when it ends with its cancellation.
  package struct Outline: Sendable, Equatable {
    package var url: String?
    package var response: ResponseSummary?
  }

  /// Ends a transfer: its state and its events in one transaction. Returns the number of its events; 0, when it is over
  /// already or gone.
  @discardableResult
  package func finish(_ transfer: TransferID, hasFile: Bool, completion: Completion, date: Date) throws -> Int {
    try finish([End(transfer: transfer, hasFile: hasFile, completion: completion)], date: date).reduce(0, +)
  }

  /// Ends them all in one transaction, or none. Returns the numbers of their events, in order.
  package func finish(_ ends: [End], date: Date) throws -> [Int] {
    try database.write(try TransferStore.change(ending: sealed(ends), date: date))
  }

  /// The same without waiting for the disk; see `writeTogether`.
  ///
  /// - Parameter ended: called once, with the result of each in order.
  package func finish(_ ends: [End], date: Date, ended: @escaping @Sendable ([Result<Int, any Error>]) -> Void) {
    writeTogether(
      sealed(ends), { try TransferStore.change(ending: $0, date: date) },
      recording: { ends in
        TransferStore.record(of: ends.lazy.map { ($0.transfer, $0.completion.failure) }, at: date)
      }, ended: ended)
  }

  /// Of transfers that were cancelled or have failed; nil where there are none. A file that was loaded tells the end itself.
  static func record(
    of ends: some Sequence<(transfer: TransferID, failure: TransferFailure?)>, at date: Date
  ) -> RecordedChange? {
    var groups: [(failure: TransferFailure, transfers: [TransferID])] = []
    for end in ends {
      guard var failure = end.failure else { continue }
      // Thousands that are cancelled together are a list of numbers.
      if failure.code == URLError.Code.cancelled.rawValue { failure.url = nil }
      if groups.last?.failure == failure {
        groups[groups.count - 1].transfers.append(end.transfer)
      } else {
        groups.append((failure, [end.transfer]))
      }
    }
    let changes = groups.map { QueueChange.ended($0.transfers, $0.failure, date: date) }
    return changes.isEmpty ? nil : RecordedChange(awaits: .theServiceIsKilled) { changes }
  }

  /// As the queue may hold them.
  private func sealed(_ ends: [End]) -> [End] {
    guard let key else { return ends }
    return ends.map { end in
      var end = end
      end.completion = key.sealed(
        end.completion, of: end.transfer, responseIsInQueue: end.responseIsInQueue)
      return end
    }
  }

  private static func change(ending ends: [End], date: Date) throws -> @Sendable (Database) throws -> [Int] {
    // Encoded before the transaction begins, which keeps it short.
    let payloads = try MessageFraming.encode(each: ends.map(\.completion))
    return { database in
      try zip(ends, payloads).map { end, payload in
        try TransferStore.finish(end, payload: payload, date: date, in: database)
      }
    }
  }

  private static func finish(_ end: End, payload: Data, date: Date, in database: Database) throws -> Int {
    let find = try database.cachedStatement(
      sql: "SELECT session FROM transfers WHERE id = ? AND state <> 'completed'")
    guard let session = try Int64.fetchOne(find, arguments: [end.transfer]) else { return 0 }
    let completion = end.completion
    try database.cachedStatement(
      sql: """
        UPDATE transfers SET state = 'completed', finished = :finished, failure = :failure, response = :response,
          nextAttempt = NULL, lastFailure = NULL, password = NULL, committedOffset = :received, expectedTotal = :expected
        WHERE id = :id
        """
    ).execute(arguments: [
      "finished": date.timeIntervalSince1970, "failure": JSONStored.encode(completion.failure),
      "response": JSONStored.encode(completion.response), "received": completion.countOfBytesReceived,
      "expected": completion.countOfBytesExpectedToReceive, "id": end.transfer,
    ])
    return try addEvents(of: end.transfer, hasFile: end.hasFile, payload: payload, session: session, in: database)
  }

  /// Returns how many there are.
  @discardableResult
  static func addEvents(
    of transfer: TransferID, hasFile: Bool, payload: Data, session: SessionID, in database: Database
  ) throws -> Int {
    let kinds: [StoredEvent.Kind] = hasFile ? [.finishedDownloading, .completed] : [.completed]
    for kind in kinds {
      try database.cachedStatement(
        sql: """
          INSERT INTO events (session, sequence, transfer, kind, completion)
          SELECT id, nextSequence, ?, ?, ? FROM sessions WHERE id = ?
          """
      ).execute(arguments: [transfer, kind.rawValue, payload, session])
      try database.cachedStatement(sql: "UPDATE sessions SET nextSequence = nextSequence + 1 WHERE id = ?")
        .execute(arguments: [session])
    }
    return kinds.count
  }

  /// Reads no more of the descriptions than the URL: they may be long, and the ends of many transfers are written at a time.
  package func outlines(of transfers: [TransferID]) throws -> [TransferID: Outline] {
    try database.read { database in
      let find = try database.cachedStatement(sql: "SELECT description, response FROM transfers WHERE id = ?")
      return try transfers.reduce(into: [:]) { outlines, id in
        guard let row = try OutlineRow.fetchOne(find, arguments: [id]) else { return }
        outlines[id] = Outline(url: row.description?.request.url, response: row.response)
      }
    }
  }

  private struct OutlineRow: Decodable, FetchableRecord {
    struct Description: Codable, Sendable, Equatable {
      struct Request: Codable, Sendable, Equatable { var url: String }
      var request: Request
    }

    @JSONStored var description: Description?
    @JSONStored var response: ResponseSummary?
  }
}
