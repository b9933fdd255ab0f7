import Foundation
import HTTPTransport
import NIOCore

/// The load of one task: takes the request through the pipeline, the body to its sink, and the end to the task.
/// Confined to the load's event loop.
class TaskLoad: LoadClient, @unchecked Sendable {
  let session: URLSession
  /// The task as it was when it was started.
  let start: TaskStart
  /// Another one after the response became a download.
  var task: URLSessionTask { didSet { delivery?.task = task } }
  /// nil when the task has no delegate.
  let delivery: TaskDelivery?
  /// The download to a file that is under way, or that broke off and can be resumed.
  var download: ResumableDownload<TaskLoad>?
  /// The upload that is under way, or that broke off and can be resumed.
  var upload: ResumableUpload<TaskLoad>?
  /// How the load has ended, until the task is told.
  var ending: Ending?

  struct Ending {
    let result: Result<Received, any Error>
    let context: LoadContext
  }

  init(task: URLSessionTask, start: TaskStart) {
    self.task = task
    self.start = start
    session = start.session
    delivery = start.session.makeDelivery(for: task, own: start.delegate)
  }

  /// The load of `task`, by the kind of the task.
  static func make(for task: URLSessionTask, start: TaskStart) -> TaskLoad {
    switch task {
    case let task as URLSessionWebSocketTask: WebSocketLoad(task: task, start: start)
    case let task as URLSessionStreamTask: StreamLoad(task: task, start: start)
    default: TaskLoad(task: task, start: start)
    }
  }

  /// Whether the load is one request and its response.
  var isPlain: Bool { !(task is URLSessionUploadTask) }

  /// Does the work of the task: one response, received. Tasks that keep their connection override this.
  func perform(in context: LoadContext) async throws -> Received {
    context.loop.assertInEventLoop()
    let resumption = start.resumption
    if case .broken(let error) = resumption { throw error }
    let request = try await beginRequest(in: context)
    if case .download(let data) = resumption { return try await resume(data, request, in: context) }
    if task is URLSessionUploadTask {
      if case .upload(let data) = resumption { return try await upload(request, resuming: data, in: context) }
      return try await upload(request, resuming: nil, in: context)
    }
    let loaded = try await LoadPipeline.load(LoadRequest(request, body: task.requestBody), in: context)
    return try await receive(loaded, in: context)
  }

  /// The request with the session's fields, once its date has come. The timers run from then on.
  func beginRequest(in context: LoadContext) async throws -> URLRequest {
    context.loop.assertInEventLoop()
    guard var request = start.request else {
      throw ErrorMapping.make(.unsupportedURL, because: "The task has no request.")
    }
    if let date = start.earliestBeginDate { request = try await begin(request, at: date, in: context) }
    request = request.completed(by: context.configuration.additionalHeaders)
    startTimers(for: request, in: context)
    try await context.control.passGate()
    return request
  }

  /// `request` as the app sees it.
  func shown(_ request: URLRequest) -> URLRequest { request }

  /// `request`, which the app chose, as the pipeline loads it.
  func loaded(_ request: URLRequest) -> URLRequest { request }

  func startTimers(for request: URLRequest, in context: LoadContext) {
    context.loop.assertInEventLoop()
    let idle = request.isTimeoutIntervalSet ? request.timeoutInterval : context.configuration.timeoutIntervalForRequest
    context.control.startTimers(idle: idle, resource: context.configuration.timeoutIntervalForResource)
  }

  func receive(_ loaded: LoadedResponse, in context: LoadContext) async throws -> Received {
    context.loop.assertInEventLoop()
    do {
      return try await receiveBody(of: loaded, in: context)
    } catch {
      loaded.body.discard()
      throw error
    }
  }

  private func receiveBody(of loaded: LoadedResponse, in context: LoadContext) async throws -> Received {
    note(loaded.response)
    guard let sink = try await makeSink(for: loaded.response, in: context) else { throw ErrorMapping.cancelled }
    if let stream = sink.streamTask { return try await serve(stream, loaded, in: context) }
    if let file = sink as? FileSink { return try await receive(loaded, into: file, in: context) }
    return try await receive(loaded, into: sink, in: context)
  }

  func note(_ response: URLResponse) {
    task.noteResponse(response)
    task.bytesReceived.store(0, ordering: .relaxed)
    task.bytesExpectedToReceive.store(response.expectedContentLength, ordering: .relaxed)
    task.countersChanged()
  }

  /// Pulls the body, or what is left of it, into a sink that keeps no file.
  func receive(_ loaded: LoadedResponse, into sink: any LoadSink, in context: LoadContext) async throws -> Received {
    context.loop.assertInEventLoop()
    do {
      try await pull(loaded, into: sink, in: context)
      return try await sink.finish(in: context)
    } catch {
      await sink.abandon()
      throw error
    }
  }

  /// `error` with what a later task can go on with.
  func withResumeData(_ error: any Error, in context: LoadContext) async -> any Error {
    context.loop.assertInEventLoop()
    if let download {
      // The upload, if there was one, has brought the response that became a download.
      if upload != nil { await removeKeptBody(in: context) }
      return await withDownloadResumeData(error, download)
    }
    if let upload { return await withUploadResumeData(error, upload, in: context) }
    return error
  }

  func countReceived(_ bytes: Int) {
    task.bytesReceived.add(Int64(bytes), ordering: .relaxed)
    task.countersChanged()
  }

  private func pull(_ loaded: LoadedResponse, into sink: any LoadSink, in context: LoadContext) async throws {
    while !sink.hasEnough, let chunk = try await loaded.body.next() {
      if !sink.countsBytes { countReceived(chunk.readableBytes) }
      try await sink.receive(chunk, in: context)
    }
    guard sink.hasEnough else { return }
    // A proof that covers the body is judged at its end.
    guard loaded.bodyProof != nil else { return loaded.body.discard() }
    while try await loaded.body.next() != nil {}
  }

  // MARK: Earliest begin date

  private func begin(_ request: URLRequest, at date: Date, in context: LoadContext) async throws -> URLRequest {
    while let pause = DateWait.pause(until: date, now: Date()) { try await wait(pause, in: context) }
    try await context.control.passGate()
    guard let delivery else { return request }
    let answer = try await delivery.askAboutDelayedRequest(
      request, of: task, in: session, control: context.control)
    switch answer.disposition {
    case .continueLoading: return request
    case .cancel: throw ErrorMapping.cancelled
    case .useNewRequest:
      guard var new = answer.request else { throw ErrorMapping.cancelled }
      new.takeNetworks(of: request)
      load(context, isUsing: new)
      return new
    }
  }

  func wait(_ seconds: TimeInterval, in context: LoadContext) async throws { try await context.control.sleep(seconds) }

  // MARK: LoadClient

  func loadIsWaitingForConnectivity(_ context: LoadContext) {
    context.loop.assertInEventLoop()
    let (session, task) = (self.session, self.task)
    task.tellConsumers { .waiting(.network) }
    delivery?.post(.waitingForConnectivity) { $0.task?.urlSession(session, taskIsWaitingForConnectivity: task) }
  }

  func load(_ context: LoadContext, isUsing request: URLRequest) {
    context.loop.assertInEventLoop()
    task.noteRequest(shown(request))
  }

  func load(
    _ context: LoadContext, willFollow newRequest: URLRequest, from response: HTTPURLResponse
  ) async throws -> URLRequest? {
    context.loop.assertInEventLoop()
    guard let delivery else { return newRequest }
    let (session, task) = (self.session, self.task)
    let newRequest = shown(newRequest)
    task.noteResponse(response)
    let answer = try await delivery.ask(
      .redirection, fallback: URLRequest?.none, control: context.control
    ) { facets, answer in
      facets.task?.urlSession(
        session, task: task, willPerformHTTPRedirection: response, newRequest: newRequest, completionHandler: answer)
    }
    // The outer nil: no delegate decides.
    let chosen = answer ?? newRequest
    return chosen.map { loaded($0) }
  }

  func load(_ context: LoadContext, didReceiveInformational response: HTTPURLResponse) {
    context.loop.assertInEventLoop()
    upload?.receivedInformational(response)
    let (session, task) = (self.session, self.task)
    delivery?.post(.informationalResponse) {
      $0.task?.urlSession(session, task: task, didReceiveInformationalResponse: response)
    }
  }

  func load(_ context: LoadContext, didSendBodyBytes count: Int64, total: Int64, expected: Int64) {
    context.loop.assertInEventLoop()
    let (total, expected) = upload?.progress(ofBody: total, expected: expected) ?? (total, expected)
    task.bytesSent.store(total, ordering: .relaxed)
    task.bytesExpectedToSend.store(expected, ordering: .relaxed)
    task.countersChanged()
    delivery?.didSend(task, bytes: count, total: total, expected: expected)
  }

  func load(_ context: LoadContext, needsBodyStreamFrom offset: Int64) async throws -> SendableInputStream? {
    context.loop.assertInEventLoop()
    let (session, task) = (self.session, self.task)
    let answer = try await delivery?.ask(
      offset == 0 ? .newBodyStream : .newBodyStreamFrom, fallback: SendableInputStream?.none, control: context.control
    ) { facets, answer in
      let handler: @Sendable (InputStream?) -> Void = { answer($0.map { SendableInputStream($0) }) }
      if offset == 0 {
        facets.task?.urlSession(session, task: task, needNewBodyStream: handler)
      } else {
        facets.task?.urlSession(session, task: task, needNewBodyStreamFrom: offset, completionHandler: handler)
      }
    }
    let stream = answer ?? nil
    if stream == nil { upload?.streamIsMissing() }
    return stream
  }

  func load(
    _ context: LoadContext, didReceive challenge: URLAuthenticationChallenge
  ) async throws -> ChallengeAnswer {
    context.loop.assertInEventLoop()
    guard let delivery else { return ChallengeAnswer() }
    return try await delivery.answer(to: challenge, of: task, control: context.control)
  }

  func load(_ context: LoadContext, defaultCredentialFor space: URLProtectionSpace) async throws -> URLCredential? {
    context.loop.assertInEventLoop()
    return try await session.credentialStorage?.defaultCredential(for: space, task: task, in: context)
  }

  func load(_ context: LoadContext, keep credential: URLCredential, for space: URLProtectionSpace) {
    session.credentialStorage?.keep(credential, for: space, task: task)
  }

  /// Downloads go to a file of the app's.
  var storesResponses: Bool { task is URLSessionDataTask }

  var cachingTask: URLSessionDataTask? { task as? URLSessionDataTask }

  var protocolTask: URLSessionTask? { task }

  func loadMayChangeStoredResponse(_ context: LoadContext) -> Bool {
    context.loop.assertInEventLoop()
    return delivery?.mayBeAsked(.willCache) ?? false
  }

  func load(_ context: LoadContext, willStore response: CachedURLResponse) async throws -> CachedURLResponse? {
    context.loop.assertInEventLoop()
    guard let delivery, let dataTask = cachingTask else { return response }
    let session = self.session
    let answer = try await delivery.ask(
      .willCache, fallback: CachedURLResponse?.none, control: context.control
    ) { facets, answer in
      facets.data?.urlSession(session, dataTask: dataTask, willCacheResponse: response, completionHandler: answer)
    }
    // The outer nil: no delegate decides.
    return answer ?? response
  }

  var wantsRecords: Bool { delivery?.mayBeImplemented(.metrics) ?? false }

  func load(_ context: LoadContext, mayAnswerChallengesOf method: String) -> Bool {
    context.loop.assertInEventLoop()
    return delivery?.mayAnswerChallenges(of: method) ?? false
  }
}
