/// The ordered list of everything that can happen to a request, its follow-ups included.
///
/// The outermost stage stands first. Two rules give the order: whatever settles a request's final fields stands outside
/// the cache, and content is decoded outside it, because a cache keeps the representation as it was on the
/// wire. What the server proves of a message is judged further inside. The list ends in the loader of the URL's scheme
/// (`SchemeLoaders`). `PipelineRun` takes a request through it.
package enum LoadPipeline {
  /// How many stages there are: the cases of `stage`, as a test makes sure.
  static let count = 15

  /// From here on inwards no stage changes what the next one starts from: `PipelineRun` begins anew with the request's
  /// own fields where a stage before this one asks for another turn. The one behind `RequestFields`.
  static let firstStageBehindFields = 7

  /// The stage of the server's credentials.
  static let authentication = 4

  /// Calls `hook` with the stage at `index`. No array of them: each request passes all, and a call of a known type costs
  /// nothing where the stage has no such hook.
  private static func stage(_ index: Int, _ hook: some Hook) -> LoadStep {
    switch index {
    // 3xx: the request goes on to another URL.
    case 0: return hook.call(Redirects())
    // The app's own protocols answer what they accept, in place of all that follows.
    case 1: return hook.call(CustomProtocols())
    // A host that wants TLS is talked to over TLS.
    case 2: return hook.call(HSTS())
    // No request leaves that App Transport Security forbids.
    case 3: return hook.call(TransportSecurity())
    // 401, and the credentials that are sent unasked.
    case 4: return hook.call(Authentication())
    // 401 of a proxy that was to log in at an FTP server.
    case 5: return hook.call(FTPGatewayAuthentication())
    // The fields that every request gets.
    case 6: return hook.call(RequestFields())
    // The cookies of the session's store.
    case 7: return hook.call(SentCookies())
    // A response without a type gets the one that its first bytes speak of.
    case 8: return hook.call(TypeSniffing())
    // Accept-Encoding, and compressed bodies.
    case 9: return hook.call(ContentDecoding())
    // Stored responses answer, and responses are stored.
    case 10: return hook.call(Caching())
    // The server's own proof of knowing the password.
    case 11: return hook.call(AuthenticationInfo())
    // 407, from a proxy that is asked for the resource and from one that is asked for a tunnel.
    case 12: return hook.call(ProxyAuthentication())
    // 408, 417, 421, 425, 503 with Retry-After, a stale connection, a request that was not processed, HTTP/1.1 required, a
    // proxy that failed, no network.
    case 13: return hook.call(Retry())
    // Set-Cookie of every response from the network.
    case 14: return hook.call(ReceivedCookies())
    default: return .proceed
    }
  }

  /// The type of the stage at `index`; nil where there is none.
  static func type(at index: Int) -> (any LoadStage.Type)? {
    let hook = TypeOfStage()
    _ = stage(index, hook)
    return hook.type
  }

  static func willSend(_ index: Int, _ run: PipelineRun) -> LoadStep { stage(index, WillSend(run: run)) }

  static func didReceive(_ index: Int, _ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    stage(index, DidReceive(response: response, run: run))
  }

  static func didFail(_ index: Int, _ error: any Error, _ run: PipelineRun) -> LoadStep {
    stage(index, DidFail(error: error, run: run))
  }

  /// One of the three hooks, with its arguments; or a question about the stage.
  private protocol Hook {
    func call(_ stage: some LoadStage) -> LoadStep
  }

  private struct WillSend: Hook {
    let run: PipelineRun
    func call(_ stage: some LoadStage) -> LoadStep { stage.willSend(run) }
  }

  private struct DidReceive: Hook {
    let response: LoadedResponse
    let run: PipelineRun
    func call(_ stage: some LoadStage) -> LoadStep { stage.didReceive(response, run) }
  }

  private struct DidFail: Hook {
    let error: any Error
    let run: PipelineRun
    func call(_ stage: some LoadStage) -> LoadStep { stage.didFail(error, run) }
  }

  private final class TypeOfStage: Hook {
    private(set) var type: (any LoadStage.Type)?
    func call<Stage: LoadStage>(_ stage: Stage) -> LoadStep {
      type = Stage.self
      return .proceed
    }
  }

  /// Loads `request` up to its response head. Runs on the context's event loop.
  ///
  /// - Throws: A `URLError`, or the error that the load was aborted with.
  package static func load(_ request: LoadRequest, in context: LoadContext) async throws -> LoadedResponse {
    try await PipelineRun(request, in: context).response()
  }
}
