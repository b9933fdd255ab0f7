import HTTPSemantics

/// The fields that every request gets beside the app's own and the session's. What belongs to one connection (Host, the
/// framing, a proxy's credentials) is added where the request meets it: `HTTPRequestHead.init(for:…)`.
struct RequestFields: LoadStage {
  func willSend(_ run: PipelineRun) -> LoadStep {
    // A proxy is asked for ftp in HTTP.
    guard run.httpScheme != nil || run.request.urlRequest.url?.scheme?.lowercased() == "ftp" else { return .proceed }
    // Most requests have no fields of their own, and share one list.
    if run.fields.fields.isEmpty, let all = DefaultRequestFields.all(for: run.request) {
      run.fields = all
      return .proceed
    }
    // One copy, with room for these and for what the connection adds.
    run.fields.fields.reserveCapacity(run.fields.fields.count + 8)
    DefaultRequestFields.complete(&run.fields, of: run.request)
    return .proceed
  }
}
