import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Connections load through the classes that the app has registered, the latest first.
@Suite struct NSURLConnectionProtocolTests {
  /// Of a scheme of its own, since the list of classes is the process's.
  private class Answering: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "connection-mock" }
    class var text: String { "earlier" }

    override func startLoading() {
      guard let url = request.url else { return }
      let response = URLResponse(url: url, mimeType: "text/x-mock", expectedContentLength: -1, textEncodingName: nil)
      client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
      client?.urlProtocol(self, didLoad: Data(type(of: self).text.utf8))
      client?.urlProtocolDidFinishLoading(self)
    }
  }

  private final class Later: Answering {
    override class var text: String { "later" }
  }

  @available(*, deprecated)
  @Test func registeredClassesServeEveryForm() async throws {
    let request = URLRequest(url: try #require(URL(string: "connection-mock://host/x")))
    #expect(URLProtocol.registerClass(Answering.self))
    #expect(URLProtocol.registerClass(Later.self))
    defer { for type in [Answering.self, Later.self] { URLProtocol.unregisterClass(type) } }
    #expect(NSURLConnection.canHandle(request))
    let queue = OperationQueue()
    let seen = Recorder<String>()
    queue.addOperation {
      var response: URLResponse?
      let data = try? NSURLConnection.sendSynchronousRequest(request, returning: &response)
      seen.record(String(decoding: data ?? Data(), as: UTF8.self) + " " + (response?.mimeType ?? ""))
    }
    #expect(try await seen.next() == "later text/x-mock")
    NSURLConnection.sendAsynchronousRequest(request, queue: queue) { response, data, error in
      seen.record(String(decoding: data ?? Data(), as: UTF8.self) + " \(error == nil)")
    }
    #expect(try await seen.next() == "later true")
    URLProtocol.unregisterClass(Later.self)
    let log = ConnectionRecorder()
    try await onRunLoop(log) { _ = NSURLConnection(request: request, delegate: log) }
    #expect(log.summary == ["send 0", "response", "data", "finished"] && log.text == "earlier")
    URLProtocol.unregisterClass(Answering.self)
    #expect(!NSURLConnection.canHandle(request))
  }
}
