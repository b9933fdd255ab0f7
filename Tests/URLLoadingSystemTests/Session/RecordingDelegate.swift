import Foundation
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// A delegate of every kind that writes down what it is told, and on which queue.
final class RecordingDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, @unchecked Sendable {
  // Sendable by hand: the closures are set before the first task is made.

  let events = Recorder<String>()
  /// Messages that came on another queue than this one.
  let strays = Recorder<String>()
  let received = Mutex(Data())
  let metrics = Recorder<URLSessionTaskMetrics>()
  let errors = Recorder<URLError>()
  let done = Gate()
  let invalid = Gate()
  weak var queue: OperationQueue?
  var onResponse: @Sendable (URLSessionDataTask, URLResponse) -> URLSession.ResponseDisposition? = { _, _ in .allow }
  var onRedirect: @Sendable (URLRequest) -> URLRequest? = { $0 }
  var onDelayed: @Sendable (URLRequest) -> (URLSession.DelayedRequestDisposition, URLRequest?) = { _ in
    (.continueLoading, nil)
  }
  var onFile: @Sendable (URL) -> Void = { _ in }
  var onDownload: @Sendable (URLSessionDownloadTask) -> Void = { _ in }
  var stream: @Sendable () -> InputStream? = { nil }

  /// What the delegate was told, without repeats of the same message in a row.
  var summary: [String] {
    events.all.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }

  func note(_ event: String) {
    events.record(event)
    if let queue, OperationQueue.current !== queue { strays.record(event) }
  }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
    note("invalid")
    invalid.open()
  }

  func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) { events.record("created") }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
  ) {
    note("delayed")
    let (disposition, request) = onDelayed(request)
    completionHandler(disposition, request)
  }

  func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) { note("waiting") }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    note("redirect \(response.statusCode)")
    completionHandler(onRedirect(request))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    note("stream")
    completionHandler(stream())
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) { note("sent") }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
  ) { note("informational \(response.statusCode)") }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) {
    self.metrics.record(metrics)
    note("metrics")
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if let error = error as? URLError { errors.record(error) }
    note(error.map { "failed \(($0 as? URLError)?.code.rawValue ?? 0)" } ?? "completed")
    done.open()
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    note("response")
    if let disposition = onResponse(dataTask, response) { completionHandler(disposition) }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
  ) { note("became download") }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    received.withLock { $0.append(data) }
    note("data")
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    onFile(location)
    onDownload(downloadTask)
    note("file")
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) { note("written") }
}

/// A serial queue, as an app would make it.
func serialQueue() -> OperationQueue {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  return queue
}

extension URLSession {
  static func recording(_ delegate: RecordingDelegate, queue: OperationQueue = serialQueue()) -> URLSession {
    delegate.queue = queue
    return URLSession(configuration: .loopback, delegate: delegate, delegateQueue: queue)
  }
}

/// A data: URL with a text.
func textURL(_ text: String) throws -> URL {
  let encoded = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  guard let url = URL(string: "data:text/plain,\(encoded)") else { throw URLError(.badURL) }
  return url
}

/// Runs `body` with a server of the version of HTTP that the test is about, and proves afterwards that no connection was
/// left behind.
func withServer(
  options: LoopbackServer.Options = .init(), _ handler: @escaping LoopbackServer.Handler,
  _ body: (LoopbackServer) async throws -> Void
) async throws {
  let server = try await LoopbackServer.start(tls: WireVersion.current.tls(), options: options, handler: handler)
  do { try await body(server) } catch {
    await server.shutdown()
    throw error
  }
  try await server.expectNoOpenConnections()
  await server.shutdown()
}
