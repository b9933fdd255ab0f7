import Foundation

extension URLSession {
  private func nextIdentifier() -> Int { engine.reserveTaskIdentifier() ?? registry.nextIdentifier() }

  func makeDataTask(_ request: URLRequest, outcome: TaskOutcome = .delegates) -> URLSessionDataTask {
    announce(
      URLSessionDataTask(
        session: self, identifier: nextIdentifier(), request: request, body: .none, outcome: outcome))
  }

  func makeUploadTask(
    _ request: URLRequest?, body: RequestBody, outcome: TaskOutcome = .delegates, resumption: Resumption? = nil
  ) -> URLSessionUploadTask {
    announce(newUploadTask(request, body, outcome, resumption))
  }

  private func newUploadTask(
    _ request: URLRequest?, _ body: RequestBody, _ outcome: TaskOutcome, _ resumption: Resumption?
  ) -> URLSessionUploadTask {
    let task = URLSessionUploadTask(
      session: self, identifier: nextIdentifier(), request: request, body: body, outcome: outcome)
    if let resumption { task.lockedState.withLock { $0.resumption = resumption } }
    return task
  }

  func makeDownloadTask(
    _ request: URLRequest?, outcome: TaskOutcome = .delegates, resumption: Resumption? = nil
  ) -> URLSessionDownloadTask {
    announce(newDownloadTask(request, outcome, resumption))
  }

  func makeStreamTask(to host: String, port: Int) -> URLSessionStreamTask {
    announce(URLSessionStreamTask(session: self, identifier: nextIdentifier(), source: .host(host, port: port)))
  }

  func makeWebSocketTask(_ request: URLRequest, protocols: [String] = []) -> URLSessionWebSocketTask {
    let task = URLSessionWebSocketTask(
      session: self, identifier: nextIdentifier(), request: request, body: .none, outcome: .delegates)
    task.offeredProtocols.withLock { $0 = protocols }
    task.mailbox.use(laneForTask())
    return announce(task)
  }

  private func newDownloadTask(
    _ request: URLRequest?, _ outcome: TaskOutcome, _ resumption: Resumption?
  ) -> URLSessionDownloadTask {
    let task = URLSessionDownloadTask(
      session: self, identifier: nextIdentifier(), request: request, body: .none, outcome: outcome)
    if let resumption {
      task.lockedState.withLock { state in
        state.resumption = resumption
        state.changedRequest = resumption.currentRequest
      }
    }
    return task
  }

  /// Makes a new task known: to the registry, the engine and the delegate.
  private func announce<Task: URLSessionTask>(_ make: @autoclosure () -> Task) -> Task {
    let task: Task
    if engine.reservesSlowly {
      task = registry.addSlowly(make)
    } else {
      task = make()
      registry.add(task)
    }
    task.lockedState.withLock { state in
      switch state.outcome {
      case .data, .file: state.prefersIncrementalDelivery = false
      default: if task is URLSessionDownloadTask { state.prefersIncrementalDelivery = false }
      }
    }
    engine.created(task)
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
        session: self, identifier: nextIdentifier(), request: request, body: .none, outcome: .unclaimed),
      delegate: delegate)
  }

  func makeCallUploadTask(
    _ request: URLRequest, body: RequestBody, delegate: (any URLSessionTaskDelegate)?
  ) -> URLSessionUploadTask {
    prepare(
      URLSessionUploadTask(
        session: self, identifier: nextIdentifier(), request: request, body: body, outcome: .unclaimed),
      delegate: delegate)
  }

  func makeCallDownloadTask(
    _ request: URLRequest?, delegate: (any URLSessionTaskDelegate)?, resumption: Resumption? = nil
  ) -> URLSessionDownloadTask {
    prepare(newDownloadTask(request, .unclaimed, resumption), delegate: delegate)
  }

  /// A task for an `async` call, which starts it at once: until then nobody else can know of it.
  private func prepare<Task: URLSessionTask>(_ task: Task, delegate: (any URLSessionTaskDelegate)?) -> Task {
    if let delegate {
      task.delegate = delegate
      tellCreated(task, first: DelegateFacets(delegate))
    } else if facets != nil {
      tellCreated(task, first: nil)
    }
    engine.created(task)
    return task
  }

  /// Who is to be told of `task`; nil when there is no delegate at all.
  func makeDelivery(for task: URLSessionTask) -> TaskDelivery? {
    let own = task.lockedState.withLock({ $0.delegate }).map { DelegateFacets($0) }
    let second = facets
    guard own != nil || second != nil else { return nil }
    return TaskDelivery(session: self, lane: laneForTask(), first: own, second: second)
  }

  /// The download task that goes on with the work of `dataTask`, which ends without a word.
  func makeSuccessor(of dataTask: URLSessionDataTask, work: any TaskWork) -> URLSessionDownloadTask {
    let old = dataTask.lockedState.withLock { state in
      let copy = state
      _ = state.complete(error: nil)
      state.session = nil
      state.delegate = nil
      return copy
    }
    dataTask.didChange(\.state)
    let download = URLSessionDownloadTask(
      session: self, identifier: nextIdentifier(), request: old.originalRequest, body: dataTask.requestBody,
      outcome: .delegates)
    download.lockedState.withLock { state in
      state.inherit(old)
      state.prefersIncrementalDelivery = false
      state.adopt(work, suspensions: old.suspensions, isCanceling: old.phase == .canceling)
    }
    download.bytesSent.store(dataTask.bytesSent.load(ordering: .relaxed), ordering: .relaxed)
    download.bytesExpectedToSend.store(dataTask.bytesExpectedToSend.load(ordering: .relaxed), ordering: .relaxed)
    download.bytesExpectedToReceive.store(dataTask.bytesExpectedToReceive.load(ordering: .relaxed), ordering: .relaxed)
    _ = registry.hold(download)
    // A suspension that was on its way to the work found the old task ended.
    work.suspensionChanged(of: download)
    return download
  }

  /// The stream task that goes on with the work of `dataTask`, which ends without a word.
  func makeStreamSuccessor(of dataTask: URLSessionDataTask, work: any TaskWork) -> URLSessionStreamTask {
    let old = dataTask.lockedState.withLock { state in
      let copy = state
      _ = state.complete(error: nil)
      state.session = nil
      state.delegate = nil
      return copy
    }
    dataTask.didChange(\.state)
    let stream = URLSessionStreamTask(
      session: self, identifier: nextIdentifier(), source: .response, request: old.originalRequest)
    stream.lockedState.withLock { state in
      state.inherit(old)
      state.adopt(work, suspensions: old.suspensions, isCanceling: old.phase == .canceling)
    }
    _ = registry.hold(stream)
    work.suspensionChanged(of: stream)
    return stream
  }

  /// A download task of an earlier process, under way elsewhere. nil when the session takes no tasks any more.
  func restoreDownloadTask<Work: TaskWork>(
    identifier: Int, request: URLRequest, work makeWork: (URLSessionDownloadTask) -> Work,
    configure: (inout TaskState) -> Void, suspensions: () -> Int
  ) -> Work? {
    let task = URLSessionDownloadTask(
      session: self, identifier: identifier, request: request, body: .none, outcome: .delegates)
    let work = makeWork(task)
    task.lockedState.withLock { state in
      state.prefersIncrementalDelivery = false
      configure(&state)
      state.adopt(work, suspensions: suspensions(), isCanceling: false)
    }
    return registry.restore(task) ? work : nil
  }
}
