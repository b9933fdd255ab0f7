import Foundation
import GRDB
import HTTPSemantics
import SystemServices
import TransferProtocol

/// A transfer in full.
package struct StoredTransfer: Sendable, Equatable {
  package var head: StoredTransferHead
  package var app: AppID
  package var sessionIdentifier: String
  package var description: TransferDescription
  package var response: ResponseSummary?
  package var validator: ResumeValidator?
  /// When the resource time-out began to run.
  package var started: DurableInstant?
  package var failure: TransferFailure?
  package var created: Date
  package var finished: Date?
  package var isAcknowledged: Bool
  /// The password of the URL, which names its user alone.
  package var sealedPassword: Data?
  /// The header fields and the body, which `description` is without; nil where there are none.
  package var sealedRequest: Data?
  /// nil for downloads.
  package var upload: StoredUpload?
  /// The request can't be read any more; `description` only stands for it.
  package var isDamaged = false
  /// The path of the app's program.
  package var appPath: String?
  /// How many bytes it takes in a message, about.
  package var weight = 0
}

extension StoredTransfer: FetchableRecord {
  /// Selects the columns that `init(row:)` reads, in its order.
  static let query = """
    SELECT \(StoredTransferHead.columns), sessions.app, identifier, token, description, response, validator,
      failure, created, finished, acknowledged, password, sealedRequest, upload, apps.path AS appPath
    FROM transfers JOIN sessions ON sessions.id = transfers.session JOIN apps ON apps.id = sessions.app
    """

  package init(row: Row) throws {
    var row = RowReader(row)
    let head = try StoredTransferHead(reading: &row)
    let (app, sessionIdentifier): (AppID, String) = (try row.next(), try row.next())
    let token: String = try row.next()
    let description: TransferDescription? = row.json()
    let damaged = {
      var damaged = TransferDescription.unreadable
      (damaged.token, damaged.taskIdentifier) = (token, head.taskIdentifier)
      return damaged
    }
    self.init(
      head: head, app: app, sessionIdentifier: sessionIdentifier, description: description ?? damaged(),
      response: row.json(), validator: row.json(), started: head.started, failure: row.json(), created: try row.date(),
      finished: try row.optionalDate(), isAcknowledged: try row.next(), sealedPassword: try row.optional(),
      sealedRequest: try row.optional(), upload: row.json(), isDamaged: description == nil, appPath: try row.next())
    // The sealed part is shown in the clear, its body as Base64.
    weight = row.bytesOfJSON + 2 * (sealedRequest?.count ?? 0)
  }
}

extension TransferDescription {
  /// Stands for one that can't be read any more.
  static var unreadable: TransferDescription {
    TransferDescription(token: "", taskIdentifier: 0, request: RequestDescription(url: "about:invalid"))
  }
}
