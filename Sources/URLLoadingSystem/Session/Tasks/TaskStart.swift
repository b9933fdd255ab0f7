import Foundation

/// The values of a task at its start that its work uses. Read once, with the lock that starts it.
struct TaskStart: Sendable {
  let session: URLSession
  let request: URLRequest?
  let recipient: ResultRecipient
  /// The task's own delegate.
  let delegate: (any URLSessionTaskDelegate)?
  let resumption: Resumption?
  let earliestBeginDate: Date?
  let priority: Float
  let taskDescription: String?
  /// The file that a download must bring.
  let expectedContent: ExpectedContent?
}
