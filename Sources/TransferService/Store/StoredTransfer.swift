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
}

extension StoredTransfer: FetchableRecord {
  /// Selects the columns that `init(row:)` reads.
  static let query = """
    SELECT \(StoredTransferHead.columns), sessions.app, identifier, token, description, response, validator,
      failure, created, finished, acknowledged, password, sealedRequest, upload, apps.path AS appPath
    FROM transfers JOIN sessions ON sessions.id = transfers.session JOIN apps ON apps.id = sessions.app
    """

  private struct Columns: Decodable, FetchableRecord {
    var app: AppID
    var identifier: String
    var token: String
    @JSONStored var description: TransferDescription?
    @JSONStored var response: ResponseSummary?
    @JSONStored var validator: ResumeValidator?
    @JSONStored var started: DurableInstant?
    @JSONStored var failure: TransferFailure?
    var created: Date
    var finished: Date?
    var acknowledged: Bool
    var password: Data?
    var sealedRequest: Data?
    @JSONStored var upload: StoredUpload?
    var appPath: String

    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
      .timeIntervalSince1970
    }
  }

  package init(row: Row) throws {
    let head = try StoredTransferHead(row: row)
    let columns = try Columns(row: row)
    let damaged = TransferDescription(
      token: columns.token, taskIdentifier: head.taskIdentifier, request: RequestDescription(url: "about:invalid"))
    self.init(
      head: head, app: columns.app, sessionIdentifier: columns.identifier, description: columns.description ?? damaged,
      response: columns.response, validator: columns.validator, started: columns.started, failure: columns.failure,
      created: columns.created, finished: columns.finished, isAcknowledged: columns.acknowledged,
      sealedPassword: columns.password, sealedRequest: columns.sealedRequest, upload: columns.upload,
      isDamaged: columns.description == nil, appPath: columns.appPath)
  }
}
