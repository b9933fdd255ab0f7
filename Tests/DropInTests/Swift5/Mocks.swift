import Foundation
import FoundationNetworking

// Stand-ins for sessions and tasks, as apps' tests have them: subclasses that override the factories.

class MockURLSession: URLSession {
  var nextData: Data?
  var nextError: Error?
  private(set) var lastRequest: URLRequest?
  let nextTask = MockDataTask()

  override init() {
    super.init()
  }

  override func dataTask(
    with request: URLRequest, completionHandler: @escaping (Data?, URLResponse?, Error?) -> Void
  ) -> URLSessionDataTask {
    lastRequest = request
    let (data, error) = (nextData, nextError)
    nextTask.onResume = {
      let response = request.url.flatMap {
        HTTPURLResponse(url: $0, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["X-Mock": "1"])
      }
      completionHandler(data, error == nil ? response : nil, error)
    }
    return nextTask
  }

  override func dataTask(with url: URL) -> URLSessionDataTask {
    lastRequest = URLRequest(url: url)
    return nextTask
  }
}

class MockDataTask: URLSessionDataTask {
  var onResume: () -> Void = {}
  private(set) var resumeCount = 0
  private(set) var cancelCount = 0
  private var mockState = URLSessionTask.State.suspended

  override init() {
    super.init()
  }

  override var taskIdentifier: Int { 42 }
  override var state: URLSessionTask.State { mockState }

  override func resume() {
    resumeCount += 1
    mockState = .running
    onResume()
  }

  override func cancel() {
    cancelCount += 1
    mockState = .canceling
  }
}

final class MockUploadTask: URLSessionUploadTask {
  private(set) var wasResumed = false
  override func resume() { wasResumed = true }
}

final class MockDownloadTask: URLSessionDownloadTask {
  override var response: URLResponse? {
    URL(string: "https://example.com/file.zip").map {
      URLResponse(url: $0, mimeType: "application/zip", expectedContentLength: 12, textEncodingName: nil)
    }
  }
}

/// A protocol that has the factories' own signatures, with `URLSession` conforming as it is.
protocol SessionProtocol {
  func dataTask(with url: URL) -> URLSessionDataTask
  func dataTask(with request: URLRequest) -> URLSessionDataTask
  func invalidateAndCancel()
}

extension URLSession: SessionProtocol {}

/// The same with a handler, as most tutorials write it.
protocol HandlerSessionProtocol {
  func dataTask(
    with request: URLRequest, completionHandler: @escaping (Data?, URLResponse?, Error?) -> Void
  ) -> URLSessionDataTask
}

extension URLSession: HandlerSessionProtocol {}

/// A space that holds what only a handshake could put into one.
final class MockProtectionSpace: URLProtectionSpace, @unchecked Sendable {
  private let trust: SecTrust?

  init(host: String, trust: SecTrust?) {
    self.trust = trust
    super.init(
      host: host, port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: nil,
      authenticationMethod: NSURLAuthenticationMethodServerTrust)
  }

  required init?(coder: NSCoder) { fatalError("no archive of this is made") }

  override var serverTrust: SecTrust? { trust }
}

/// A cache that counts, as image loaders have them.
final class CountingCache: URLCache, @unchecked Sendable {
  private let limit: Int

  init(limit: Int) {
    self.limit = limit
    super.init(memoryCapacity: limit, diskCapacity: 0, diskPath: nil)
  }
}

final class MarkedResponse: CachedURLResponse, @unchecked Sendable {
  private let mark: String

  init(mark: String, response: URLResponse) {
    self.mark = mark
    super.init(response: response, data: Data(mark.utf8))
  }

  required init?(coder: NSCoder) { fatalError("no archive of this is made") }
}
