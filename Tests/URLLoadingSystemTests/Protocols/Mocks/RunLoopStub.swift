import Foundation
import Synchronization
import URLLoadingSystem

/// The answer of a `RunLoopStub` to the requests that it is for.
struct StubAnswer: Sendable {
  var status = 200
  var fields: [String: String] = [:]
  var body = Data()
  var error: URLError?
  /// Between the request and the response, and between the response and the end of the body.
  var requestTime = 0.0
  var responseTime = 0.0
}

/// A mock as stubbing libraries make it: registered stubs that are tested in turn, answers that are streamed by timers on
/// the run loop of `startLoading()`, redirects by the Location field.
final class RunLoopStub: URLProtocol, @unchecked Sendable {
  // Sendable by hand, as such libraries declare it: its state is used on the run loop of its thread.

  struct Stub: Sendable {
    let matches: @Sendable (URLRequest) -> Bool
    let answer: @Sendable (URLRequest) -> StubAnswer
  }

  private static let stubs = Mutex<[Stub]>([])
  private var stream: InputStream?
  private var loop: RunLoop?
  private var isStopped = false

  /// The stub that was added last is tested first.
  static func stub(
    _ matches: @escaping @Sendable (URLRequest) -> Bool, _ answer: @escaping @Sendable (URLRequest) -> StubAnswer
  ) {
    stubs.withLock { $0.insert(Stub(matches: matches, answer: answer), at: 0) }
  }

  private static func find(_ request: URLRequest) -> Stub? {
    stubs.withLock { $0 }.first { $0.matches(request) }
  }

  override class func canInit(with request: URLRequest) -> Bool { find(request) != nil }

  override init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    // Stubs are never answered from a cache.
    super.init(request: request, cachedResponse: nil, client: client)
  }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override var cachedResponse: CachedURLResponse? { nil }

  override func startLoading() {
    loop = RunLoop.current
    guard let stub = RunLoopStub.find(request), let url = request.url else {
      client?.urlProtocol(self, didFailWithError: URLError(.resourceUnavailable))
      return
    }
    let answer = stub.answer(request)
    after(answer.requestTime) {
      if let error = answer.error {
        self.client?.urlProtocol(self, didFailWithError: error)
        return
      }
      guard
        let response = HTTPURLResponse(
          url: url, statusCode: answer.status, httpVersion: "HTTP/1.1", headerFields: answer.fields)
      else { return }
      if (300..<400).contains(answer.status), answer.status != 304,
        let location = answer.fields["Location"].flatMap({ URL(string: $0, relativeTo: url) })
      {
        self.client?.urlProtocol(self, wasRedirectedTo: URLRequest(url: location), redirectResponse: response)
        self.client?.urlProtocolDidFinishLoading(self)
        return
      }
      self.client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
      let stream = InputStream(data: answer.body)
      stream.open()
      self.stream = stream
      self.send(chunk: max(1, answer.body.count / 8), every: answer.responseTime / 8)
    }
  }

  private func send(chunk: Int, every interval: Double) {
    guard !isStopped, let stream else { return }
    var buffer = [UInt8](repeating: 0, count: chunk)
    let count = stream.read(&buffer, maxLength: chunk)
    guard count > 0 else {
      stream.close()
      client?.urlProtocolDidFinishLoading(self)
      return
    }
    client?.urlProtocol(self, didLoad: Data(buffer[..<count]))
    after(interval) { self.send(chunk: chunk, every: interval) }
  }

  /// By a timer of the run loop, or at the loop's next turn.
  private func after(_ seconds: Double, _ action: @escaping @Sendable () -> Void) {
    guard seconds > 0 else {
      loop?.perform(action)
      return
    }
    // A timer made from an interval alone fires at once on Linux.
    let timer = Timer(fire: Date(timeIntervalSinceNow: seconds), interval: 0, repeats: false) { _ in action() }
    loop?.add(timer, forMode: .default)
  }

  override func stopLoading() { isStopped = true }
}
