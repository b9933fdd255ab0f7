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
