import Foundation

/// Stores of the app's own classes are asked task by task, on a thread where they may block.
extension TaskLoad {
  func load(_ context: LoadContext, cookiesIn storage: HTTPCookieStorage) async throws -> [HTTPCookie]? {
    context.loop.assertInEventLoop()
    let task = task
    return try await ask(in: context) { answer in storage.getCookiesFor(task) { answer($0) } }
  }

  func load(_ context: LoadContext, keep cookies: [HTTPCookie], in storage: HTTPCookieStorage) async throws {
    context.loop.assertInEventLoop()
    let task = task
    // The next request of the task is to have these.
    _ = try await ask(in: context) { answer in
      storage.storeCookies(cookies, for: task)
      answer(nil)
    }
  }

  private func ask(
    in context: LoadContext, _ question: @escaping @Sendable (@escaping @Sendable ([HTTPCookie]?) -> Void) -> Void
  ) async throws -> [HTTPCookie]? {
    try await StoreQuestion.ask(nil, in: context) { answer in StoreQuestion.run { question(answer) } }
  }
}
