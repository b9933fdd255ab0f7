import HTTPTransport

/// One thing that happens to requests and responses. A stage holds no state: what it must remember of a request is in
/// the run.
///
/// The hooks are synchronous and run on the load's event loop. Only what must ask the app, the disk or the network
/// returns `LoadStep.wait`.
protocol LoadStage: Sendable {
  /// Outermost stage first, before anything is sent.
  func willSend(_ run: PipelineRun) -> LoadStep
  /// Innermost stage first, with the response head. Work on the body is a filter that is added here.
  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep
  /// Innermost stage first, with the error from further inside.
  func didFail(_ error: any Error, _ run: PipelineRun) -> LoadStep
}

extension LoadStage {
  func willSend(_ run: PipelineRun) -> LoadStep { .proceed }
  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep { .proceed }
  func didFail(_ error: any Error, _ run: PipelineRun) -> LoadStep { .proceed }
}

/// The decision of a stage, or of the loader of a scheme.
enum LoadStep {
  /// The next stage's turn: further inside with a request, further outside with a response or an error.
  case proceed
  /// This is the response; the stages outside this one see it.
  case answer(LoadedResponse)
  /// The stages are run once more from this one on, with what it has changed in the run.
  case again
  /// The stages are run once more from the one of the server's credentials on: another load was let in while this one
  /// waited.
  case proveFirst
  /// The stages outside this one hear of the error.
  case fail(any Error)
  /// The step is the result of the question. What it throws is `fail`.
  case wait(() async throws -> LoadStep)
  /// The step is not known yet, and will be without a Swift task.
  case pending(any PendingStep)
}

/// A step that the event loop itself completes: a connection that is awaited, a response head. Called on the load's
/// loop.
protocol PendingStep: Abortable {
  /// Calls `action` once, when `step()` is worth calling. Not from within this call.
  func whenReady(_ action: @escaping () -> Void)
  /// The step; `pending` again when it is not known yet.
  func step() -> LoadStep
}
