import Foundation

/// Refuses the tasks that a background session can't run, before they are handed over.
enum BackgroundTaskRules {
  /// nil when the task can be handed over.
  static func problem(with task: URLSessionTask) -> URLError? {
    let (recipient, resumption) = (task.recipient, task.resumption)
    switch resumption {
    case .broken(let error): return error
    case .download(let data): if let problem = data.fileProblem { return problem }
    case .upload, nil: break
    }
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
