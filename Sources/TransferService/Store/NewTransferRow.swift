import Foundation
import GRDB
import TransferProtocol

/// The row of a transfer that is created; the columns that are not named here have their defaults.
struct NewTransferRow: Encodable, PersistableRecord {
  static let databaseTableName = "transfers"

  let session: SessionID
  let taskIdentifier: Int
  let token: String
  let state: String
  let host: String
  let priority: Double
  let earliestBegin: Double?
  let description: Data
  let committedOffset: Int64
  let expectedTotal: Int64
  let validator: Data?
  let created: Double
  let password: Data?
  let upload: Data?
  let started: Data?
  let sealedRequest: Data?

  init(_ new: TransferStore.NewTransfer, encoded: Data, session: SessionID, date: Date) throws {
    let description = new.description
    self.session = session
    taskIdentifier = description.taskIdentifier
    token = description.token
    state = (description.startsImmediately ? StoredState.active : .suspended).rawValue
    host = new.host
    priority = Double(description.priority)
    earliestBegin = description.earliestBeginDate?.timeIntervalSince1970
    self.description = encoded
    committedOffset = new.committedOffset
    expectedTotal = description.resumePoint?.expectedTotal ?? -1
    validator = try JSONStored.encode(new.validator)
    created = date.timeIntervalSince1970
    password = new.sealedPassword
    upload = try JSONStored.encode(new.upload)
    started = try JSONStored.encode(new.started)
    sealedRequest = new.sealedRequest
  }
}
