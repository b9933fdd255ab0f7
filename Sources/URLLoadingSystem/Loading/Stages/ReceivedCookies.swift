import Foundation
import HTTPSemantics

/// Stores the cookies of every response that comes from the network (RFC 6265bis §5.6, §5.7): of redirects, challenges and
/// those that are sent again, too.
///
/// It stands inside the place of the cache: a response that was kept sets no cookie again.
struct ReceivedCookies: LoadStage {
  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    guard let cookies = run.context.configuration.cookies, let head = response.head,
      run.request.urlRequest.httpShouldHandleCookies, cookies.policy != .never, head.fields.contains("Set-Cookie"),
      let request = run.cookieRequest
    else { return .proceed }
    let fields = head.fields.values("Set-Cookie")
    let storage = cookies.storage
    if cookies.isAppsOwn {
      return .wait {
        let received = HTTPCookie.cookies(setCookieFields: fields, from: request.place, now: Date())
        try await run.context.client.load(run.context, keep: received, in: storage)
        return .proceed
      }
    }
    guard storage.isReady else {
      return .wait {
        await storage.prepare()
        keep(fields, request, head, cookies, run)
        return .proceed
      }
    }
    keep(fields, request, head, cookies, run)
    return .proceed
  }

  private func keep(
    _ fields: [String], _ request: CookieRequest, _ head: HTTPResponseHead, _ cookies: LoadCookies, _ run: PipelineRun
  ) {
    cookies.storage.store(fields, from: request, under: cookies.policy)
    // A stage between this one and `SentCookies` may send the request again after these.
    if cookies.isSending, [407, 408, 417, 421, 503].contains(head.status) { SentCookies.add(cookies.storage, run) }
  }
}
