import Foundation
import FoundationNetworking
import Synchronization

// Delegates in Swift 6: `async` forms, final classes with a mutex, a main-actor class with nonisolated methods.

final class TaskObserver: NSObject, URLSessionTaskDelegate {
  private let state = Mutex<(redirects: Int, hops: Int, sent: Int64)>((0, 0, 0))

  var redirects: Int { state.withLock { $0.redirects } }
  var hops: Int { state.withLock { $0.hops } }
  var sent: Int64 { state.withLock { $0.sent } }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) async -> URLRequest? {
    state.withLock { $0.redirects += 1 }
    return request
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    (.performDefaultHandling, nil)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
    state.withLock { $0.hops = metrics.transactionMetrics.count }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) { state.withLock { $0.sent = totalBytesSent } }
}

final class PinnedSessionDelegate: NSObject, URLSessionDelegate {
  let hosts: Set<String>

  init(hosts: Set<String>) { self.hosts = hosts }

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    let space = challenge.protectionSpace
    guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, let trust = space.serverTrust else {
      return (.performDefaultHandling, nil)
    }
    return hosts.contains(space.host) ? (.useCredential, URLCredential(trust: trust)) : (.rejectProtectionSpace, nil)
  }
}

/// Streams of progress for each download, finished by the file.
final class DownloadCenter: NSObject, URLSessionDownloadDelegate {
  enum Event: Sendable {
    case progress(Double)
    case finished(URL)
    case failed(any Error)
  }

  private let continuations = Mutex<[Int: AsyncStream<Event>.Continuation]>([:])
  private let folder: URL

  init(folder: URL) { self.folder = folder }

  func download(_ url: URL, in session: URLSession) -> AsyncStream<Event> {
    let task = session.downloadTask(with: url)
    let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
    continuations.withLock { $0[task.taskIdentifier] = continuation }
    continuation.onTermination = { reason in
      if case .cancelled = reason { task.cancel() }
    }
    task.resume()
    return stream
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    let target = folder.appending(path: UUID().uuidString)
    let continuation = continuations.withLock { $0[downloadTask.taskIdentifier] }
    do {
      try FileManager.default.moveItem(at: location, to: target)
      continuation?.yield(.finished(target))
    } catch {
      continuation?.yield(.failed(error))
    }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    let fraction = Double(totalBytesWritten) / Double(max(totalBytesExpectedToWrite, 1))
    continuations.withLock { _ = $0[downloadTask.taskIdentifier]?.yield(.progress(fraction)) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let continuation = continuations.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    if let error { continuation?.yield(.failed(error)) }
    continuation?.finish()
  }
}

@MainActor final class LogModel {
  private(set) var lines: [String] = []
  private(set) var isLoading = false
  private var loading: Task<Void, Never>?

  func load(_ url: URL, session: URLSession) async throws {
    isLoading = true
    defer { isLoading = false }
    let (bytes, response) = try await session.bytes(from: url)
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
    for try await line in bytes.lines { lines.append(line) }
  }
}

/// Main-actor state told by a delegate that is not.
@MainActor final class UploadModel: NSObject, URLSessionDataDelegate {
  private(set) var fraction = 0.0
  private(set) var answer = Data()
  var onEnd: (@MainActor (Bool) -> Void)?

  func start(_ data: Data, to url: URL) {
    let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: .main)
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    session.uploadTask(with: request, from: data).resume()
    session.finishTasksAndInvalidate()
  }

  nonisolated func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    Task { @MainActor in fraction = Double(totalBytesSent) / Double(totalBytesExpectedToSend) }
  }

  nonisolated func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    Task { @MainActor in answer.append(data) }
  }

  nonisolated func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
  ) async -> URLSession.ResponseDisposition {
    (response as? HTTPURLResponse)?.statusCode == 200 ? .allow : .cancel
  }

  nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    Task { @MainActor in onEnd?(error == nil) }
  }
}
