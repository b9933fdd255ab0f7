import Foundation

/// Refuses the tasks that a background session can't run, before they are handed over.
enum BackgroundTaskRules {
  /// nil when the task can be handed over.
  ///
  /// - Parameter fileProblem: `DownloadResumeData.fileProblem` of the task's resume data.
  static func problem(with task: URLSessionTask, fileProblem: URLError?) -> URLError? {
    let recipient = task.recipient
    if case .broken(let error) = task.resumption { return error }
    if let fileProblem { return fileProblem }
    guard recipient.isDelegates else {
      return ErrorMapping.make(
        .unknown,
        because: "A background session tells its delegate: a completion handler or an async call would be "
          + "lost with the process.")
    }
    guard task is URLSessionDownloadTask else {
      return ErrorMapping.make(.unknown, because: "Background sessions take download tasks only.")
    }
    guard let request = task.originalRequest, ["http", "https"].contains(request.url?.scheme?.lowercased() ?? "") else {
      return ErrorMapping.make(.unsupportedURL, because: "Background sessions load http and https URLs only.")
    }
    return request.uncarriedProperty()
  }
}
