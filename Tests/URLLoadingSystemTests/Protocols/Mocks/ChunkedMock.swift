import Foundation
import Synchronization
import URLLoadingSystem

/// A mock as libraries that match and build make it: registered for all sessions that ask registered classes, its content
/// downloaded in chunks by an operation queue, parts of it for Range.
final class ChunkedMock: URLProtocol, @unchecked Sendable {
  // Sendable by hand, as such libraries declare it: its queue runs one operation at a time.

  enum Answer: Sendable {
    case content(Data, chunk: Int)
    case failure(URLError)
  }

  private static let answers = Mutex<[String: Answer]>([:])
  private let queue = OperationQueue()

  static func mock(_ host: String, _ answer: Answer?) { answers.withLock { $0[host] = answer } }

  private static func answer(to request: URLRequest) -> Answer? {
    request.url?.host.flatMap { host in answers.withLock { $0[host] } }
  }

  override class func canInit(with request: URLRequest) -> Bool { answer(to: request) != nil }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    queue.maxConcurrentOperationCount = 1
    switch ChunkedMock.answer(to: request) {
    case .failure(let error)?: client?.urlProtocol(self, didFailWithError: error)
    case .content(let data, let chunk)?: send(data, chunk)
    case nil: client?.urlProtocol(self, didFailWithError: URLError(.unsupportedURL))
    }
  }

  private func send(_ data: Data, _ chunk: Int) {
    var (status, part) = (200, data)
    var fields = ["Content-Type": "text/plain", "ETag": "\"1\"", "Accept-Ranges": "bytes"]
    if let range = request.value(forHTTPHeaderField: "Range"), range.hasPrefix("bytes="),
      let start = Int(range.dropFirst(6).prefix { $0.isNumber }), start < data.count
    {
      (status, part) = (206, data.dropFirst(start))
      fields["Content-Range"] = "bytes \(start)-\(data.count - 1)/\(data.count)"
    }
    fields["Content-Length"] = "\(part.count)"
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
    else { return }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    for start in stride(from: 0, to: part.count, by: chunk) {
      let piece = part.dropFirst(start).prefix(chunk)
      queue.addOperation { [self] in client?.urlProtocol(self, didLoad: Data(piece)) }
    }
    queue.addOperation { [self] in client?.urlProtocolDidFinishLoading(self) }
  }

  override func stopLoading() { queue.cancelAllOperations() }
}
