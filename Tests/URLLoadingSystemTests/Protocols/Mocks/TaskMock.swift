import Foundation
import Synchronization
import URLLoadingSystem

/// A mock as libraries that keep a table of answers make it: found by method and URL, told of each request with its body,
/// delayed by a queue, asked in the form for tasks.
final class TaskMock: URLProtocol, @unchecked Sendable {
  // Sendable by hand, as such libraries declare it: it is started and stopped on one thread.

  struct Answer: Sendable {
    var status = 200
    var fields = ["Content-Type": "application/json"]
    var body = Data()
    var delay: DispatchTimeInterval?
    var error: URLError?
    var onRequest: @Sendable (URLRequest, Data) -> Void = { _, _ in }
  }

  private static let answers = Mutex<[String: Answer]>([:])
  private var work: DispatchWorkItem?

  private static func key(_ request: URLRequest) -> String {
    "\(request.httpMethod ?? "GET") \(request.url?.absoluteString ?? "")"
  }

  static func register(_ method: String, _ url: URL, _ answer: Answer) {
    answers.withLock { $0["\(method) \(url.absoluteString)"] = answer }
  }

  private static func answer(to request: URLRequest) -> Answer? { answers.withLock { $0[key(request)] } }

  override class func canInit(with task: URLSessionTask) -> Bool {
    guard let request = task.currentRequest else { return false }
    return canInit(with: request)
  }

  override class func canInit(with request: URLRequest) -> Bool { answer(to: request) != nil }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { false }

  override func startLoading() {
    guard let answer = TaskMock.answer(to: request), let url = request.url,
      let response = HTTPURLResponse(
        url: url, statusCode: answer.status, httpVersion: "HTTP/1.1", headerFields: answer.fields)
    else {
      client?.urlProtocol(self, didFailWithError: URLError(.unsupportedURL))
      return
    }
    answer.onRequest(request, bodyData())
    let item = DispatchWorkItem { [self] in
      if let error = answer.error {
        client?.urlProtocol(self, didFailWithError: error)
      } else {
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: answer.body)
        client?.urlProtocolDidFinishLoading(self)
      }
    }
    guard let delay = answer.delay else { return item.perform() }
    work = item
    DispatchQueue.global().asyncAfter(deadline: .now() + delay, execute: item)
  }

  override func stopLoading() { work?.cancel() }

  /// Such libraries look for `httpBody` first: the loading system shows a stream.
  private func bodyData() -> Data {
    if let body = request.httpBody { return body }
    guard let stream = request.httpBodyStream else { return Data() }
    stream.open()
    defer { stream.close() }
    var (data, buffer) = (Data(), [UInt8](repeating: 0, count: 4_096))
    while stream.hasBytesAvailable {
      let count = stream.read(&buffer, maxLength: buffer.count)
      guard count > 0 else { break }
      data.append(contentsOf: buffer[..<count])
    }
    return data
  }
}
