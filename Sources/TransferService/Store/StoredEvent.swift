import Foundation
import GRDB
import TransferProtocol

/// An event as it waits for delivery. The path of a file is made afresh for each delivery, so it is not kept.
package struct StoredEvent: Sendable, Equatable {
  package var sequence: Int64
  package var transfer: TransferID
  package var taskIdentifier: Int
  package var kind: Kind
  package var completion: Completion

  package enum Kind: String, Sendable {
    case finishedDownloading
    case completed
  }
}

extension StoredEvent: FetchableRecord {
  /// Selects the columns that `init(row:)` reads.
  static let query = """
    SELECT sequence, transfer, taskIdentifier, kind, completion FROM events
    JOIN transfers ON transfers.id = events.transfer
    """

  /// An end that can't be read is a failure: the event must be told all the same, or those behind it never are.
  package init(row: Row) throws {
    var row = RowReader(row)
    self.init(
      sequence: try row.next(), transfer: try row.next(), taskIdentifier: try row.next(),
      kind: Kind(rawValue: try row.next()) ?? .completed, completion: row.json() ?? StoredEvent.damaged)
  }

  private static var damaged: Completion {
    Completion(
      failure: TransferFailure(
        domain: NSURLErrorDomain, code: URLError.Code.unknown.rawValue,
        message: "The transfer service's record of the transfer's end is damaged."),
      response: nil, countOfBytesReceived: 0, countOfBytesExpectedToReceive: -1)
  }
}
