import Foundation
import HTTPSemantics
import HTTPTransport

/// One request on its way through the stages, with its follow-ups. Confined to the load's event loop.
///
/// 1. The stages' `willSend` hooks run from the outermost to the innermost, then the loader of the scheme begins.
/// 2. A response goes back through the `didReceive` hooks, an error through the `didFail` hooks.
/// 3. A stage may answer, ask for another turn (from itself on), or wait.
///
/// A run needs no Swift task until something must be awaited that only a task can await: `start` goes as far as it can
/// without one. A load that waits for its connection or its response head is this object and what it refers to.
package final class PipelineRun: @unchecked Sendable {
  package let context: LoadContext
  /// The request as the app, and redirects, have it.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  package private(set) var request: LoadRequest
  /// The parts of the request's URL when that is an http or https one that names a host; nil otherwise.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private(set) var httpTarget: HTTPTarget? { didSet { httpScheme = httpTarget?.key.scheme } }
  /// The key of stored responses to the request's URL, where that is known; nil elsewhere.
  private(set) var cacheKey: CacheKey?
  /// The scheme of `httpTarget`, which takes no copy of it.
  private(set) var httpScheme: ConnectionKey.Scheme?
  /// The fields as they are sent: the request's own and those that stages add. They start anew with each hop.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var fields: HTTPFields
  /// The URL that redirects led here from.
  let firstURL: URL?
  /// How many redirects were followed.
  private(set) var redirectCount = 0
  /// The state of the loaders of network schemes in the present hop.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var network: NetworkHop?
  /// The credentials that the present hop has tried; nil for none.
  var authentication: RequestAuthentication?
  /// The credential that the request carries.
  var carried: RequestAuthentication.Attempt? { authentication?.attempt }

  /// The state of the cache in the present hop; nil where it has no part in it.
  var caching: CachingHop?

  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private var state = State.sending(stage: 0)
  /// The caller of `start`, until it is called back. Kept here, so that the closures on the way refer to the run alone:
  /// those take no memory.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private var completion: ((PipelineRun) -> Void)?

  private enum State {
    case sending(stage: Int)
    case receiving(LoadedResponse, stage: Int)
    case failing(any Error, stage: Int)
    /// A question is to be asked, or being asked. `direction` is where `proceed` leads afterwards.
    case waiting(() async throws -> LoadStep, stage: Int, Direction)
    case pending(any PendingStep, stage: Int, Direction)
    case over(Result<LoadedResponse, any Error>)
  }

  /// The event that a stage was told before it decided.
  private enum Direction {
    case sending
    case receiving(LoadedResponse)
    case failing(any Error)
  }

  private enum Pause {
    case over(Result<LoadedResponse, any Error>)
    case question(() async throws -> LoadStep)
    case pending(any PendingStep)
    /// The event loop of the connections is needed for the rest.
    case needsHost
  }

  /// - Parameter isForOrigin: Whether the request's URL is known to be the one that the context was made for.
  package init(_ request: LoadRequest, in context: LoadContext, isForOrigin: Bool = false) {
    self.request = request
    self.context = context
    firstURL = request.urlRequest.url
    fields = request.urlRequest.headerFields
    httpTarget =
      isForOrigin ? context.originTarget : request.urlRequest.url.flatMap { HTTPTarget(text: $0.absoluteString) }
    httpScheme = httpTarget?.key.scheme
    if isForOrigin { cacheKey = context.originKey }
  }

  /// Goes on with another request: the next hop of a redirect.
  func follow(_ request: LoadRequest) {
    self.request = request
    network = nil
    authentication = nil
    caching = nil
    redirectCount += 1
    cacheKey = nil
    httpTarget = request.urlRequest.url.flatMap { HTTPTarget(text: $0.absoluteString) }
  }

  /// Goes on with another URL for the same request, unasked.
  func loadInstead(_ url: URL) {
    request.urlRequest.url = url
    cacheKey = nil
    httpTarget = HTTPTarget(text: url.absoluteString)
  }

  // MARK: Driving

  /// Goes as far as is possible without a Swift task, and calls `completion` once: when `response()` has something to
  /// return or must be awaited.
  func start(_ completion: @escaping (PipelineRun) -> Void) {
    self.completion = completion
    goOn()
  }

  private func goOn() {
    switch advance() {
    case .over, .question: completion.take()?(self)
    case .needsHost: context.moveToHost { self.goOn() }
    case .pending(let step):
      context.control.wait = step
      step.whenReady { self.stepIsReady() }
    }
  }

  private func stepIsReady() {
    guard case .pending(let step, _, _) = state else { return }
    context.control.wait = nil
    resume(step.step())
    goOn()
  }

  /// How the run ended; nil while something must be awaited.
  var outcome: Result<LoadedResponse, any Error>? {
    if case .over(let result) = state { result } else { nil }
  }

  /// The response, up to its head.
  func response() async throws -> LoadedResponse {
    while true {
      switch advance() {
      case .over(let result): return try result.get()
      case .question(let question):
        let step: LoadStep
        do { step = try await question() } catch { step = .fail(error) }
        resume(step)
      case .pending(let pending):
        context.control.wait = pending
        await withUnsafeContinuation { continuation in pending.whenReady { continuation.resume() } }
        context.control.wait = nil
        resume(pending.step())
      case .needsHost:
        await withUnsafeContinuation { continuation in context.moveToHost { continuation.resume() } }
      }
    }
  }

  /// Runs stages until one must be waited for, or the end.
  private func advance() -> Pause {
    context.loop.assertInEventLoop()
    while true {
      switch state {
      case .sending(let stage):
        if stage == LoadPipeline.count, context.isInline { return .needsHost }
        send(from: stage)
      case .receiving(let response, let stage): receive(response, from: stage)
      case .failing(let error, let index):
        if let error = context.control.abortError {
          end(.failure(error))
        } else if index >= 0 {
          take(LoadPipeline.didFail(index, error, self), of: index, .failing(error))
        } else {
          end(.failure(describe(error)))
        }
      case .waiting(let question, _, _): return .question(question)
      case .pending(let step, _, _): return .pending(step)
      case .over(let result): return .over(result)
      }
    }
  }

  /// Goes inwards as long as the stages have nothing against it.
  private func send(from stage: Int) {
    var stage = stage
    while true {
      if let error = context.control.abortError { return end(.failure(error)) }
      if stage == LoadPipeline.count, context.isInline { return state = .sending(stage: stage) }
      let step = stage < LoadPipeline.count ? LoadPipeline.willSend(stage, self) : SchemeLoaders.begin(self)
      guard case .proceed = step else { return take(step, of: stage, .sending) }
      stage += 1
    }
  }

  /// Goes outwards as long as the stages leave the response as it is.
  private func receive(_ response: LoadedResponse, from stage: Int) {
    var stage = stage
    while stage >= 0 {
      let step = LoadPipeline.didReceive(stage, response, self)
      guard case .proceed = step else { return take(step, of: stage, .receiving(response)) }
      stage -= 1
    }
    end(.success(response))
  }

  /// The hop's attempt refers to the run, so the run lets go of the hop.
  private func end(_ result: Result<LoadedResponse, any Error>) {
    state = .over(result)
    network = nil
    caching = nil
  }

  /// The step that was waited for.
  private func resume(_ step: LoadStep) {
    switch state {
    case .waiting(_, let stage, let direction), .pending(_, let stage, let direction): take(step, of: stage, direction)
    case .sending, .receiving, .failing, .over: break
    }
  }

  private func take(_ step: LoadStep, of stage: Int, _ direction: Direction) {
    switch step {
    case .proceed:
      switch direction {
      case .sending: state = .sending(stage: stage + 1)
      case .receiving(let response): state = .receiving(response, stage: stage - 1)
      case .failing(let error): state = .failing(error, stage: stage - 1)
      }
    case .answer(let response): state = .receiving(response, stage: stage - 1)
    case .again:
      if stage < LoadPipeline.firstStageBehindFields { fields = request.urlRequest.headerFields }
      state = .sending(stage: stage)
    case .proveFirst:
      fields = request.urlRequest.headerFields
      state = .sending(stage: LoadPipeline.authentication)
    case .fail(let error): state = .failing(error, stage: stage - 1)
    case .wait(let question): state = .waiting(question, stage: stage, direction)
    case .pending(let pending): state = .pending(pending, stage: stage, direction)
    }
  }

  private func describe(_ error: any Error) -> any Error {
    if error is ProtocolFailure { return error }
    guard let error = error as? TransportError else { return ErrorMapping.urlError(error, url: request.urlRequest.url) }
    return ErrorMapping.urlError(ConnectivityWait.cause(of: error), url: request.urlRequest.url)
  }
}
