import Foundation

/// What a task was made to go on with.
enum Resumption: Sendable {
  case download(DownloadResumeData)
  case upload(UploadResumeData)
  /// The resume data was of no use: the task fails with this.
  case broken(URLError)
}

extension TaskState {
  /// As `cancel`, for somebody who wants what a later task can go on with. nil when the task is over.
  mutating func cancel(handingOver receiver: @escaping @Sendable (Data?) -> Void) -> Action? {
    guard phase != .completed, session != nil else { return nil }
    resumeDataReceivers.append(receiver)
    return cancel()
  }

  /// Whether what was received is to be kept when the work fails now: a plain `cancel()` gives it up.
  var wantsResumeData: Bool { phase != .canceling || !resumeDataReceivers.isEmpty }
}

extension URLError {
  /// Whatever a failed task can be continued with.
  var resumeData: Data? { downloadTaskResumeData ?? uploadTaskResumeData }

  func adding(_ value: Data?, forKey key: String) -> URLError {
    guard let value else { return self }
    var userInfo = userInfo
    userInfo[key] = value
    return URLError(code, userInfo: userInfo)
  }
}
