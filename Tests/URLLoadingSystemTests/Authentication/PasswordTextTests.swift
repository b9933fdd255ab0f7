import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// What may end up in a log has no password.
@Suite struct PasswordTextTests {
  @Test(
    arguments: [
      ("http://ann:s3cret@h/a?b=c:d@e", "http://ann@h/a?b=c:d@e"), ("http://ann@h/", "http://ann@h/"),
      ("http://:s3cret@h/", "http://@h/"), ("http://h/ann:x@y", "http://h/ann:x@y"),
      ("ftp://ann:a%40b@[::1]:21/x", "ftp://ann@[::1]:21/x"), ("mailto:a:b@c", "mailto:a:b@c"),
      ("http://h/", "http://h/"),
    ])
  func theURLIsLeftButForThePassword(text: String, shown: String) throws {
    #expect(try #require(URL(string: text)).withoutPassword.absoluteString == shown)
  }

  /// A load that is let in, and one that fails: nothing of them prints the password of the URL, or what Basic makes of it.
  @Test(arguments: ["/in", "/nonsense"]) func noTextHasThePasswordOfTheURL(path: String) async throws {
    let password = "s3cretword"
    try await withServer({ request in
      if request.path == "/nonsense" { return .raw("nonsense\r\n\r\n") }
      return request.value("Authorization") == basic("ann", password) ? .ok("in") : .unauthorized("Basic realm=here")
    }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      defer { session.invalidateAndCancel() }
      let url = try server.url(path).naming("ann", password)
      let task = session.dataTask(with: url)
      task.resume()
      try await delegate.done.wait(within: patience)
      #expect((task.response != nil) == (path == "/in") && delegate.errors.all.isEmpty == (path == "/in"))
      var texts = [NSURLRequest(url: url).description]
      texts += [task.response?.description, (task.response as URLResponse?).map { "\($0)" }].compactMap { $0 }
      for error in delegate.errors.all {
        #expect(error.failingURL?.user == "ann" && error.failingURL?.password == nil)
        texts += ["\(error)", String(reflecting: error), error.localizedDescription]
      }
      for metrics in delegate.metrics.all {
        texts += [metrics.description] + metrics.transactionMetrics.map(\.description)
      }
      for text in texts {
        #expect(!text.contains(password) && !text.contains(basic("ann", password)), "\(text)")
      }
    }
  }
}
