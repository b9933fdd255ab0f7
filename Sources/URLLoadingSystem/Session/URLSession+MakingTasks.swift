import Foundation

extension URLSession {
  private func nextIdentifier() -> Int { engine.reserveTaskIdentifier() ?? registry.nextIdentifier() }

  func makeDataTask(_ request: URLRequest, recipient: ResultRecipient = .delegates) -> URLSessionDataTask {
    announce(
      URLSessionDataTask(
        session: self, identifier: nextIdentifier(), request: request, body: .none, recipient: recipient))
  }

  func makeUploadTask(
    _ request: URLRequest?, body: RequestBody, recipient: ResultRecipient = .delegates, resumption: Resumption? = nil
  ) -> URLSessionUploadTask {
    announce(newUploadTask(request, body, recipient, resumption))
  }

  private func newUploadTask(
    _ request: URLRequest?, _ body: RequestBody, _ recipient: ResultRecipient, _ resumption: Resumption?
  ) -> URLSessionUploadTask {
    let task = URLSessionUploadTask(
      session: self, identifier: nextIdentifier(), request: request, body: body, recipient: recipient)
    if let resumption { task.lockedState.withLock { $0.resumption = resumption } }
    return task
  }

  func makeDownloadTask(
    _ request: URLRequest?, recipient: ResultRecipient = .delegates, resumption: Resumption? = nil
  ) -> URLSessionDownloadTask {
    announce(newDownloadTask(request, recipient, resumption))
  }

  func makeStreamTask(to host: String, port: Int) -> URLSessionStreamTask {
    announce(URLSessionStreamTask(session: self, identifier: nextIdentifier(), source: .host(host, port: port)))
  }

  func makeWebSocketTask(_ request: URLRequest, protocols: [String] = []) -> URLSessionWebSocketTask {
    let task = URLSessionWebSocketTask(
      session: self, identifier: nextIdentifier(), request: request, body: .none, recipient: .delegates)
    task.offeredProtocols.withLock { $0 = protocols }
    task.mailbox.use(laneForTask())
    return announce(task)
  }

  private func newDownloadTask(
    _ request: URLRequest?, _ recipient: ResultRecipient, _ resumption: Resumption?
  ) -> URLSessionDownloadTask {
    let task = URLSessionDownloadTask(
      session: self, identifier: nextIdentifier(), request: request, body: .none, recipient: recipient)
    if let resumption {
      task.lockedState.withLock { state in
        state.resumption = resumption
        state.changedRequest = resumption.currentRequest
      }
    }
    return task
  }

  /// Makes a new task known: to the registry, the engine and the delegate.
  private func announce<Task: URLSessionTask>(_ task: Task) -> Task {
    registry.add(task)
    task.lockedState.withLock { state in
      switch state.recipient {
      case .data, .file: state.prefersIncrementalDelivery = false
      default: if task is URLSessionDownloadTask { state.prefersIncrementalDelivery = false }
      }
    }
    engine.created(task)
    tellCreation(of: task)
    tellCreated(task, first: nil)
    return task
  }

  /// The one message that does not go by the delegate queue.
  private func tellCreated(_ task: URLSessionTask, first: DelegateFacets?) {
    for facets in [first, facets] {
      guard let facets, !facets.capabilities.lacks(.didCreateTask) else { continue }
      facets.task?.urlSession(self, didCreateTask: task)
      if !facets.capabilities.lacks(.didCreateTask) { return }
    }
  }

  func makeCallDataTask(_ request: URLRequest, delegate: (any URLSessionTaskDelegate)?) -> URLSessionDataTask {
    prepare(
      URLSessionDataTask(
        session: self, identifier: nextIdentifier(), request: request, body: .none, recipient: .unclaimed),
      delegate: delegate)
  }

  func makeCallUploadTask(
    _ request: URLRequest, body: RequestBody, delegate: (any URLSessionTaskDelegate)?
  ) -> URLSessionUploadTask {
    prepare(
      URLSessionUploadTask(
        session: self, identifier: nextIdentifier(), request: request, body: body, recipient: .unclaimed),
      delegate: delegate)
  }

  func makeCallDownloadTask(
    _ request: URLRequest?, delegate: (any URLSessionTaskDelegate)?, resumption: Resumption? = nil
  ) -> URLSessionDownloadTask {
    prepare(newDownloadTask(request, .unclaimed, resumption), delegate: delegate)
  }

  /// A task for an `async` call, which starts it at once: until then only the call knows it.
  private func prepare<Task: URLSessionTask>(_ task: Task, delegate: (any URLSessionTaskDelegate)?) -> Task {
    if let delegate {
      task.delegate = delegate
      tellCreated(task, first: DelegateFacets(delegate))
    } else if facets != nil {
      tellCreated(task, first: nil)
    }
    engine.created(task)
    tellCreation(of: task)
    return task
  }

  /// The object that tells the delegates of `task`; nil when there are none.
  func makeDelivery(for task: URLSessionTask) -> TaskDelivery? {
    makeDelivery(for: task, own: task.lockedState.withLock { $0.delegate })
  }

  /// - Parameter own: The task's own delegate.
  func makeDelivery(for task: URLSessionTask, own: (any URLSessionTaskDelegate)?) -> TaskDelivery? {
    let first = own.map { DelegateFacets($0) }
    let second = facets
    guard first != nil || second != nil else { return nil }
    return TaskDelivery(of: task, in: self, lane: lane(for: task), first: first, second: second)
  }

  /// The download task that goes on with the work of `dataTask`, which reports nothing more.
  func makeDownloadTask(continuing dataTask: URLSessionDataTask, work: any TaskWork) -> URLSessionDownloadTask {
    let download = URLSessionDownloadTask(
      session: self, identifier: nextIdentifier(), request: dataTask.originalRequest, body: dataTask.requestBody,
      recipient: .delegates)
    download.lockedState.withLock { $0.prefersIncrementalDelivery = false }
    download.bytesSent.store(dataTask.bytesSent.load(ordering: .relaxed), ordering: .relaxed)
    download.bytesExpectedToSend.store(dataTask.bytesExpectedToSend.load(ordering: .relaxed), ordering: .relaxed)
    download.bytesExpectedToReceive.store(dataTask.bytesExpectedToReceive.load(ordering: .relaxed), ordering: .relaxed)
    handOver(work, of: dataTask, to: download)
    return download
  }

  /// The stream task that goes on with the work of `dataTask`, which reports nothing more.
  func makeStreamTask(continuing dataTask: URLSessionDataTask, work: any TaskWork) -> URLSessionStreamTask {
    let stream = URLSessionStreamTask(
      session: self, identifier: nextIdentifier(), source: .response, request: dataTask.originalRequest)
    handOver(work, of: dataTask, to: stream)
    return stream
  }

  /// Until the delegate knows of `next`, a cancellation of `dataTask` is one of `next`. So `next` is filled first.
  private func handOver(_ work: any TaskWork, of dataTask: URLSessionDataTask, to next: URLSessionTask) {
    let known = dataTask.lockedState.withLock { $0 }
    _ = next.steer { state in
      state.take(over: work, from: known)
      return .nothing
    }
    _ = registry.hold(next)
    tellCreation(of: next)
    let last = dataTask.lockedState.withLock { state in
      let copy = state
      state.handOver(to: next)
      return copy
    }
    _ = next.steer { state in
      state.catchUp(with: last, since: known)
      return .nothing
    }
    dataTask.didChange(\.state)
    // A suspension that was on its way to the work found the old task ended.
    work.suspensionChanged(of: next)
  }

  /// The delegate knows of the task that goes on with the work of `dataTask`.
  func forgetPredecessor(_ dataTask: URLSessionDataTask) {
    dataTask.lockedState.withLock { $0.forgetSuccessor() }
    forget(dataTask.taskIdentifier)
  }
}
