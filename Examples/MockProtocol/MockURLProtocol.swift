import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Answers the requests to paths that are in `answers`.
final class MockURLProtocol: URLProtocol {
  struct Answer {
    let status: Int
    let fields: [String: String]
    let body: Data
  }

  /// By path. An answer that throws is an error of the load.
  static let answers = Mutex<[String: @Sendable (URLRequest) throws -> Answer]>([:])
  static let requests = Mutex<[String]>([])

  override class func canInit(with request: URLRequest) -> Bool {
    answers.withLock { $0[request.url?.path ?? ""] != nil }
  }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    guard let url = request.url, let answer = Self.answers.withLock({ $0[url.path] }) else { return }
    Self.requests.withLock { $0.append("\(request.httpMethod ?? "") \(url.path)") }
    do {
      let answer = try answer(request)
      guard
        let response = HTTPURLResponse(
          url: url, statusCode: answer.status, httpVersion: "HTTP/1.1", headerFields: answer.fields)
      else { throw URLError(.badServerResponse) }
      client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
      client?.urlProtocol(self, didLoad: answer.body)
      client?.urlProtocolDidFinishLoading(self)
    } catch {
      client?.urlProtocol(self, didFailWithError: error)
    }
  }

  override func stopLoading() {}
}

extension URLRequest {
  /// A body reaches a protocol as a stream, whatever it was made from.
  var bodySize: Int {
    guard let stream = httpBodyStream else { return httpBody?.count ?? 0 }
    stream.open()
    defer { stream.close() }
    var buffer = [UInt8](repeating: 0, count: 4096)
    var size = 0
    while true {
      let count = stream.read(&buffer, maxLength: buffer.count)
      guard count > 0 else { return size }
      size += count
    }
  }
}
