import Foundation

/// How a transfer stands: what a list shows.
package struct TransferStatus: Codable, Sendable, Equatable {
  /// The service's number, unique among all apps, never used again.
  package var transfer: Int64
  package var session: String
  package var taskIdentifier: Int
  package var kind: TransferKind
  package var url: String
  package var taskDescription: String?
  package var state: TransferState
  package var countOfBytesReceived: Int64
  /// -1 when it is not known.
  package var countOfBytesExpectedToReceive: Int64
  /// Why the transfer is not running.
  package var waiting: WaitingStatus?
  /// How often it was tried without success since bytes last arrived.
  package var failedAttempts: Int
  /// The HTTP status, once there is a response.
  package var httpStatus: Int?
  package var failure: TransferFailure?
  package var created: Date
  package var finished: Date?
  /// Whether the app has acknowledged the end.
  package var isAcknowledged: Bool
  /// Of an upload's file; nil for downloads.
  package var countOfBytesSent: Int64?
  package var countOfBytesExpectedToSend: Int64?
  /// The path of the app's program; nil from older services.
  package var app: String?
  /// The limits that hold for it; nil where there are none.
  package var limits: [TransferLimit]?
  /// nil while its app is there, and from older services.
  package var absence: AppAbsence?
  /// How fast its bytes travel, in both directions, over the last seconds; nil while it does not run, and from older services.
  package var bytesPerSecond: Int64?

  package init(
    transfer: Int64, session: String, taskIdentifier: Int, kind: TransferKind, url: String, state: TransferState,
    created: Date
  ) {
    self.transfer = transfer
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.kind = kind
    self.url = url
    self.state = state
    self.created = created
    countOfBytesReceived = 0
    countOfBytesExpectedToReceive = -1
    failedAttempts = 0
    isAcknowledged = false
  }
}
