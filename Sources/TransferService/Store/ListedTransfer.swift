import Foundation
import GRDB
import TransferProtocol

/// A transfer as a list shows it. Of its request the URL alone is decoded: the rest would take most of the time of a list of
/// thousands.
package struct ListedTransfer: Sendable, Equatable {
  package var id: TransferID
  package var sessionIdentifier: String
  package var taskIdentifier: Int
  package var isOver: Bool
  package var committedOffset: Int64
  package var expectedTotal: Int64
  package var failures: Int
  package var outline: TransferOutline
  package var httpStatus: Int?
  package var failure: TransferFailure?
  package var created: Date
  package var finished: Date?
  package var isAcknowledged: Bool
  package var upload: StoredUpload?
  package var appPath: String?
  /// How many bytes it takes in a message, at most.
  package var weight = 0
}

extension ListedTransfer: FetchableRecord {
  /// Selects the columns that `init(row:)` reads, in its order.
  static let query = """
    SELECT transfers.id, identifier, taskIdentifier, state, committedOffset, expectedTotal, failures, description,
      response, failure, created, finished, acknowledged, upload, apps.path
    FROM transfers JOIN sessions ON sessions.id = transfers.session JOIN apps ON apps.id = sessions.app
    """

  package init(row: Row) throws {
    var row = RowReader(row)
    self.init(
      id: try row.next(), sessionIdentifier: try row.next(), taskIdentifier: try row.next(),
      isOver: StoredState(rawValue: try row.next()) == .completed, committedOffset: try row.next(),
      expectedTotal: try row.next(), failures: try row.next(),
      outline: row.outline() ?? TransferOutline(.unreadable), httpStatus: row.json(ResponseSummary.self)?.status,
      failure: row.json(), created: try row.date(), finished: try row.optionalDate(), isAcknowledged: try row.next(),
      upload: row.json(), appPath: try row.next())
    weight = row.bytesOfJSON
  }

  init(_ stored: StoredTransfer) {
    self.init(
      id: stored.head.id, sessionIdentifier: stored.sessionIdentifier, taskIdentifier: stored.head.taskIdentifier,
      isOver: stored.head.state == .completed, committedOffset: stored.head.committedOffset,
      expectedTotal: stored.head.expectedTotal, failures: stored.head.failures,
      outline: TransferOutline(stored.description), httpStatus: stored.response?.status, failure: stored.failure,
      created: stored.created, finished: stored.finished, isAcknowledged: stored.isAcknowledged, upload: stored.upload,
      appPath: stored.appPath, weight: stored.weight)
  }
}
