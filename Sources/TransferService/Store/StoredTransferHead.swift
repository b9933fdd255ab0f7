import Foundation
import GRDB
import SystemServices

/// A transfer without its request: enough for scheduling ten thousand of them.
package struct StoredTransferHead: Sendable, Equatable, Decodable {
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
  @JSONStored package var nextAttempt: DurableInstant? = nil
  package var lastFailure: String?
  /// When the time for the whole resource began; nil until the app wants the transfer.
  @JSONStored package var started: DurableInstant? = nil
  /// How often the service crashed while it ran, without progress since then.
  package var crashes = 0
  /// The user has paused it.
  package var isHeld = false
}

/// Whether a transfer runs this moment is not stored: after a crash none does.
package enum StoredState: String, Sendable, Decodable {
  case suspended
  case active
  case completed

  /// A state of a newer service is taken for one that does nothing by itself.
  package init(from decoder: any Decoder) throws {
    self = StoredState(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .suspended
  }
}

extension StoredTransferHead: FetchableRecord {
  /// The columns of `transfers` that are read.
  static let columns = """
    transfers.id, transfers.session, taskIdentifier, state, host, priority, earliestBegin, committedOffset,
    expectedTotal, failures, nextAttempt, lastFailure, started, crashes, held AS isHeld
    """

  package static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
    .timeIntervalSince1970
  }
}
