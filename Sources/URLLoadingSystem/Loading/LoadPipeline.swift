/// The ordered list of everything that can happen to a request, its follow-ups included.
///
/// The outermost stage stands first. Two rules give the order: whatever settles a request's final fields stands outside
/// the cache, and content is decoded outside it, because a cache keeps the representation as it was on the
/// wire. The list ends in the loader of the URL's scheme (`SchemeLoaders`). `PipelineRun` takes a request through it.
package enum LoadPipeline {
  static let stages: [any LoadStage] = [
    // 3xx: the request goes on to another URL.
    Redirects(),
    // A host that wants TLS is talked to over TLS.
    HSTS(),
    // No request leaves that App Transport Security forbids.
    TransportSecurity(),
    // 401, and the credentials that are sent unasked.
    Authentication(),
    // 401 of a proxy that was to log in at an FTP server.
    FTPGatewayAuthentication(),
    // The fields that every request gets.
    RequestFields(),
    // The cookies of the session's store.
    SentCookies(),
    // A response without a type gets the one that its first bytes speak of.
    TypeSniffing(),
    // Accept-Encoding, and compressed bodies.
    ContentDecoding(),
    // Stored responses answer, and responses are stored.
    Caching(),
    // 407, from a proxy that is asked for the resource and from one that is asked for a tunnel.
    ProxyAuthentication(),
    // 408, 417, 421, 503 with Retry-After, a stale connection, a request that was not processed, HTTP/1.1 required, a
    // proxy that failed, no network.
    Retry(),
    // Set-Cookie of every response from the network.
    ReceivedCookies(),
  ]

  /// From here on inwards no stage changes what the next one starts from: `PipelineRun` begins anew with the request's
  /// own fields where a stage before this one asks for another turn.
  static let firstStageBehindFields: Int = (stages.firstIndex { $0 is RequestFields } ?? 0) + 1

  /// Loads `request` up to its response head. Runs on the context's event loop.
  ///
  /// - Throws: A `URLError`, or the error that the load was aborted with.
  package static func load(_ request: LoadRequest, in context: LoadContext) async throws -> LoadedResponse {
    try await PipelineRun(request, in: context).response()
  }
}
