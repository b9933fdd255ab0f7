import Foundation

/// A task as the app describes it.
package struct TransferDescription: Codable, Sendable, Equatable {
  /// How long one may be in a message, its body aside.
  package static let maximumLength = 1024 * 1024

  /// Chosen by the app, unique in the session: a task that is sent twice is created once.
  package var token: String
  /// Chosen by the app: `Attached.nextTaskIdentifier` and upwards.
  package var taskIdentifier: Int
  package var kind: TransferKind
  package var request: RequestDescription
  package var taskDescription: String?
  /// 0…1, as `URLSessionTask.priority`.
  package var priority: Float
  package var earliestBeginDate: Date?
  /// -1 when the app does not say.
  package var countOfBytesClientExpectsToSend: Int64
  /// -1 when the app does not say.
  package var countOfBytesClientExpectsToReceive: Int64
  /// Whether the task runs at once; otherwise it waits for `resumeTasks`.
  package var startsImmediately: Bool
  /// The partial download that this task continues.
  package var resumePoint: ResumePoint?
  /// The file that an upload sends; nil for downloads.
  package var upload: UploadDescription?
  /// Whether the app's task is a data task, whose file the library gives to the delegate as data. nil: no.
  package var isDataTask: Bool?
  /// Set by the service for tasks that the app made while the service had it running in the background: it runs when
  /// that does not get in the way, until the app comes to the foreground.
  package var isMadeInBackground: Bool?
  /// The file that the download must bring. A service of a version before 4 ignores it, so that no such task may be given to one.
  package var expectation: ContentExpectation?
  /// How often and when it is tried again; nil: as its session says.
  package var retry: RetryDescription?
  /// How many bytes a second it may receive, as the app says; nil: any number.
  package var bytesPerSecond: Int64?
  /// The same in hours of the day; the first `BandwidthLimit.maximumCount` count. nil: none.
  package var hourlyLimits: [BandwidthLimit]?

  package init(token: String, taskIdentifier: Int, kind: TransferKind = .download, request: RequestDescription) {
    self.token = token
    self.taskIdentifier = taskIdentifier
    self.kind = kind
    self.request = request
    priority = 0.5
    countOfBytesClientExpectsToSend = -1
    countOfBytesClientExpectsToReceive = -1
    startsImmediately = false
  }
}
