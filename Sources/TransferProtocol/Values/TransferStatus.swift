import Foundation

/// A task in full: as the app described it and as it stands.
package struct TransferSnapshot: Codable, Sendable, Equatable {
  package var description: TransferDescription
  package var status: TransferStatus
  package var response: ResponseSummary?

  package init(description: TransferDescription, status: TransferStatus, response: ResponseSummary? = nil) {
    self.description = description
    self.status = status
    self.response = response
  }
}

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

package enum TransferState: String, Codable, Sendable, CaseIterable {
  /// Held back by the app.
  case suspended
  /// Ready; `waiting` says what it waits for.
  case waiting
  case running
  /// Over; `failure` says whether it succeeded.
  case completed
}

/// Why a transfer is not running and when that will be looked at again.
package struct WaitingStatus: Codable, Sendable, Equatable {
  /// A stable word for programs: `retry`, `hostBusy`, `noSpace`, …
  package var code: String
  /// A sentence for people.
  package var sentence: String
  /// When it will be tried again, by the wall clock; nil when that depends on something else.
  package var nextAttempt: Date?

  package init(code: String, sentence: String, nextAttempt: Date? = nil) {
    self.code = code
    self.sentence = sentence
    self.nextAttempt = nextAttempt
  }
}

/// An error, taken apart so that the app can make an `NSError` of it.
package struct TransferFailure: Codable, Sendable, Equatable {
  package var domain: String
  package var code: Int
  package var message: String
  /// The URL that failed.
  package var url: String?
  /// `NSURLErrorBackgroundTaskCancelledReasonKey`.
  package var cancelReason: Int?
  /// The error underneath, such as the POSIX one.
  package var underlyingDomain: String?
  package var underlyingCode: Int?

  package init(domain: String, code: Int, message: String, url: String? = nil) {
    self.domain = domain
    self.code = code
    self.message = message
    self.url = url
  }
}

/// A response head: what the app rebuilds its `HTTPURLResponse` from.
package struct ResponseSummary: Codable, Sendable, Equatable {
  package var url: String
  package var status: Int
  /// `HTTP/1.1`.
  package var version: String
  package var headers: [HeaderField]
  /// Of the whole resource; -1 when it is not known.
  package var expectedContentLength: Int64

  package init(
    url: String, status: Int, version: String = "HTTP/1.1", headers: [HeaderField] = [],
    expectedContentLength: Int64 = -1
  ) {
    self.url = url
    self.status = status
    self.version = version
    self.headers = headers
    self.expectedContentLength = expectedContentLength
  }
}
