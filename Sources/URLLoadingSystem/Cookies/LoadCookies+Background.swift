import Foundation
import HTTPSemantics
import Synchronization

/// Cookies of tasks that another process loads.
extension LoadCookies {
  private static let queue = DispatchQueue(label: "HTTPCookieStorage background")

  /// The value of the Cookie field for a task's request; nil for none. The first call waits for the disk. A store of the
  /// app's own class is asked, and has to answer at once.
  func field(for task: URLSessionTask) -> String? {
    guard isSending, let request = task.originalRequest, request.httpShouldHandleCookies else { return nil }
    let found = Answer()
    storage.getCookiesFor(task) { cookies in found.cookies.withLock { $0 = cookies } }
    let cookies = found.cookies.withLock { $0 } ?? []
    return CookieField.value(of: cookies).flatMap { FieldValidation.isFieldValue($0) ? $0 : nil }
  }

  private final class Answer: Sendable {
    let cookies = Mutex<[HTTPCookie]?>(nil)
  }

  /// Stores the cookies of a task's response, elsewhere.
  func keep(_ response: HTTPURLResponse, of task: URLSessionTask) {
    let fields = response.head.fields.values("Set-Cookie")
    guard !fields.isEmpty, let url = response.url, let original = task.originalRequest,
      original.httpShouldHandleCookies
    else { return }
    LoadCookies.queue.async {
      if isAppsOwn {
        return storage.storeCookies(HTTPCookie.cookies(setCookieFields: fields, for: url), for: task)
      }
      var request = original
      request.url = url
      guard let request = CookieRequest(request, first: original) else { return }
      storage.waitForDisk()
      storage.store(fields, from: request, under: policy)
    }
  }
}
