import Foundation

extension URLSession {
  /// The kinds of tasks that outlive a process.
  enum RestoredKind {
    case download
    case upload(of: URL)
    case data
  }

  /// A task of an earlier process, under way elsewhere. nil when the session takes no tasks any more.
  func restoreTask<Work: TaskWork>(
    _ kind: RestoredKind, identifier: Int, request: URLRequest, work makeWork: (URLSessionTask) -> Work,
    configure: (inout TaskState) -> Void, suspensions: () -> Int
  ) -> Work? {
    let task = makeTask(kind, identifier: identifier, request: request)
    let work = makeWork(task)
    task.lockedState.withLock { state in
      if case .download = kind { state.prefersIncrementalDelivery = false }
      configure(&state)
      state.adopt(work, suspensions: suspensions())
    }
    guard registry.restore(task) else { return nil }
    tellCreation(of: task)
    return work
  }

  private func makeTask(_ kind: RestoredKind, identifier: Int, request: URLRequest) -> URLSessionTask {
    switch kind {
    case .download:
      URLSessionDownloadTask(
        session: self, identifier: identifier, request: request, body: .none, recipient: .delegates)
    case .upload(let file):
      URLSessionUploadTask(
        session: self, identifier: identifier, request: request, body: .file(file), recipient: .delegates)
    case .data:
      URLSessionDataTask(session: self, identifier: identifier, request: request, body: .none, recipient: .delegates)
    }
  }
}
