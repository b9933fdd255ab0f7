import Foundation

/// What the service tells without being asked.
///
/// Only `event` is durable: it is sent again, to the next process that attaches, until it is acknowledged. The others describe
/// the moment; some may be left out when the app reads slowly.
package enum ServicePush: Sendable, Equatable {
  case event(SequencedEvent)
  /// Every task of the session is over and every event acknowledged, after a reattachment that promised this.
  case eventsFinished(SessionReference)
  case progress(ProgressReport)
  case responseReceived(ResponseReceived)
  case resumedAtOffset(ResumedAtOffset)
  case stateChanged(StateChanged)
  /// To those who `watch`.
  case transferChanged(TransferStatus)
  /// A push of a newer service.
  case unknown(String)

  var name: String {
    switch self {
    case .event: "event"
    case .eventsFinished: "eventsFinished"
    case .progress: "progress"
    case .responseReceived: "responseReceived"
    case .resumedAtOffset: "resumedAtOffset"
    case .stateChanged: "stateChanged"
    case .transferChanged: "transferChanged"
    case .unknown(let name): name
    }
  }

  var body: (any Encodable)? {
    switch self {
    case .event(let body): body
    case .eventsFinished(let body): body
    case .progress(let body): body
    case .responseReceived(let body): body
    case .resumedAtOffset(let body): body
    case .stateChanged(let body): body
    case .transferChanged(let body): body
    case .unknown: nil
    }
  }
}

/// One entry of a session's event log.
package struct SequencedEvent: Codable, Sendable, Equatable {
  package var session: String
  /// Grows by one with each event of the session.
  package var sequence: Int64
  package var taskIdentifier: Int
  package var event: TransferEvent

  package init(session: String, sequence: Int64, taskIdentifier: Int, event: TransferEvent) {
    self.session = session
    self.sequence = sequence
    self.taskIdentifier = taskIdentifier
    self.event = event
  }
}

/// What happened to a task for good. `completed` is the last event of a task.
package enum TransferEvent: Codable, Sendable, Equatable {
  /// The file holds the whole body. The app may move it away; what is left of it when the event is acknowledged is
  /// deleted. Each delivery of the event names a file of its own.
  case finishedDownloading(FinishedDownload)
  case completed(Completion)

  private enum CodingKeys: String, CodingKey { case finishedDownloading, completed }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let download = try container.decodeIfPresent(FinishedDownload.self, forKey: .finishedDownloading) {
      self = .finishedDownloading(download)
    } else {
      self = .completed(try container.decode(Completion.self, forKey: .completed))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .finishedDownloading(let download): try container.encode(download, forKey: .finishedDownloading)
    case .completed(let completion): try container.encode(completion, forKey: .completed)
    }
  }
}

package struct FinishedDownload: Codable, Sendable, Equatable {
  /// The absolute path of the file, valid until the event is acknowledged.
  package var path: String
  package var response: ResponseSummary?
  package var byteCount: Int64

  package init(path: String, response: ResponseSummary?, byteCount: Int64) {
    self.path = path
    self.response = response
    self.byteCount = byteCount
  }
}

package struct Completion: Codable, Sendable, Equatable {
  /// nil when the task succeeded. HTTP statuses are no failures.
  package var failure: TransferFailure?
  package var response: ResponseSummary?
  package var countOfBytesReceived: Int64
  /// -1 when it is not known.
  package var countOfBytesExpectedToReceive: Int64

  package init(
    failure: TransferFailure?, response: ResponseSummary?, countOfBytesReceived: Int64,
    countOfBytesExpectedToReceive: Int64
  ) {
    self.failure = failure
    self.response = response
    self.countOfBytesReceived = countOfBytesReceived
    self.countOfBytesExpectedToReceive = countOfBytesExpectedToReceive
  }
}

package struct ProgressReport: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  package var totalBytesWritten: Int64
  /// -1 when it is not known.
  package var totalBytesExpectedToWrite: Int64

  package init(session: String, taskIdentifier: Int, totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.totalBytesWritten = totalBytesWritten
    self.totalBytesExpectedToWrite = totalBytesExpectedToWrite
  }
}

package struct ResponseReceived: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  package var response: ResponseSummary

  package init(session: String, taskIdentifier: Int, response: ResponseSummary) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.response = response
  }
}

package struct ResumedAtOffset: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  /// Where the bytes go on. It may be less than the progress reported before.
  package var offset: Int64
  /// -1 when it is not known.
  package var expectedTotal: Int64

  package init(session: String, taskIdentifier: Int, offset: Int64, expectedTotal: Int64) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.offset = offset
    self.expectedTotal = expectedTotal
  }
}

package struct StateChanged: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  package var state: TransferState
  package var waiting: WaitingStatus?

  package init(session: String, taskIdentifier: Int, state: TransferState, waiting: WaitingStatus? = nil) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.state = state
    self.waiting = waiting
  }
}
