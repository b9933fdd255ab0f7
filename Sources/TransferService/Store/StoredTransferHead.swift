import Foundation
import GRDB
import SystemServices

/// A transfer without its request: enough for scheduling ten thousand of them.
package struct StoredTransferHead: Sendable, Equatable {
  package var id: TransferID
  package var session: SessionID
  package var taskIdentifier: Int
  package var state: StoredState
  package var host: String
  package var priority: Float
  package var earliestBegin: Date?
  package var committedOffset: Int64
  package var expectedTotal: Int64
  package var failures: Int
  package var nextAttempt: PlannedTry? = nil
  package var lastFailure: String?
  /// When the time for the whole resource began; nil until the app wants the transfer.
  package var started: DurableInstant? = nil
  /// How often the service crashed while it ran, without progress since then, and without a resumption of one set aside.
  package var crashes = 0
  /// The user has paused it.
  package var isHeld = false
  /// The server may have the request of a download, which does harm when it arrives twice.
  package var isBegun = false

  /// Whether it is known to have begun. One that an earlier life of the service began may have left no trace.
  var hasRun: Bool { committedOffset > 0 || failures > 0 || crashes > 0 || isBegun }
}

/// Whether a transfer runs this moment is not stored: after a crash none does.
package enum StoredState: String, Sendable {
  case suspended
  case active
  case completed
}

extension StoredTransferHead: FetchableRecord {
  /// The columns of `transfers` that `init(reading:)` reads, in its order.
  static let columns = """
    transfers.id, transfers.session, taskIdentifier, state, host, priority, earliestBegin, committedOffset,
    expectedTotal, failures, nextAttempt, lastFailure, started, crashes, held, begun
    """

  package init(row: Row) throws {
    var reader = RowReader(row)
    try self.init(reading: &reader)
  }

  init(reading row: inout RowReader) throws {
    self.init(
      id: try row.next(), session: try row.next(), taskIdentifier: try row.next(),
      // A state of a newer service is taken for one that does nothing by itself.
      state: StoredState(rawValue: try row.next()) ?? .suspended, host: try row.next(), priority: try row.next(),
      earliestBegin: try row.optionalDate(), committedOffset: try row.next(), expectedTotal: try row.next(),
      failures: try row.next(), nextAttempt: row.json(), lastFailure: try row.optional(), started: row.json(),
      crashes: try row.next(), isHeld: try row.next(), isBegun: try row.next())
  }
}
