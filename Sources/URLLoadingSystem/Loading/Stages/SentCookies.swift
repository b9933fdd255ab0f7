import HTTPSemantics

/// Sends the cookies of the session's store (RFC 6265bis §5.8), on every hop. Where the store has cookies for the URL,
/// they replace a Cookie field of the app's own: `Docs/Decisions/0092-whose-cookie-field-is-sent.md`.
///
/// It stands outside the place of the cache, since `Vary` may name Cookie.
struct SentCookies: LoadStage {
  func willSend(_ run: PipelineRun) -> LoadStep {
    guard let cookies = run.context.configuration.cookies, cookies.isSending, run.httpScheme != nil,
      run.request.urlRequest.httpShouldHandleCookies
    else { return .proceed }
    let storage = cookies.storage
    if cookies.isAppsOwn {
      return .wait {
        let found = try await run.context.client.load(run.context, cookiesIn: storage)
        SentCookies.set(CookieField.value(of: found ?? []), run)
        return .proceed
      }
    }
    if storage.isKnownToBeEmpty { return .proceed }
    guard storage.isReady else {
      return .wait {
        await storage.prepare()
        SentCookies.add(storage, run)
        return .proceed
      }
    }
    SentCookies.add(storage, run)
    return .proceed
  }

  /// Sets the field to what the store has now.
  static func add(_ storage: HTTPCookieStorage, _ run: PipelineRun) {
    guard let request = run.cookieRequest else { return }
    set(storage.field(for: request), run)
  }

  private static func set(_ value: String?, _ run: PipelineRun) {
    guard let value, FieldValidation.isFieldValue(value) else { return }
    run.fields["Cookie"] = value
  }
}

extension PipelineRun {
  /// The present hop, as far as cookies are concerned; nil for a request that is not of HTTP.
  var cookieRequest: CookieRequest? {
    httpTarget.map { CookieRequest(CookiePlace($0), request.urlRequest, firstURL: firstURL) }
  }
}
