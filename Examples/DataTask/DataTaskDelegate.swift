import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Collects the body of one data task. Its calls come one after the other, on the session's queue.
final class DataTaskDelegate: NSObject, URLSessionDataDelegate {
  private let received = Mutex(Data())
  private let (invalidation, invalidate) = AsyncStream.makeStream(of: Void.self)

  /// Returns the body when the session has told everything.
  func waitForTheSession() async -> Data {
    for await _ in invalidation { break }
    return received.withLock { $0 }
  }

  /// Nothing more is delivered until the answer is given.
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    guard let response = response as? HTTPURLResponse, response.statusCode == 200 else {
      return completionHandler(.cancel)
    }
    print("response: \(response.statusCode), \(response.mimeType ?? ""), \(response.textEncodingName ?? "")")
    print("expected: \(response.expectedContentLength) bytes")
    completionHandler(.allow)
  }

  /// Only the new bytes. Whatever is needed later has to be kept.
  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    received.withLock { received in
      if received.isEmpty { print("the first bytes are here") }
      received.append(data)
    }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if let error { print("failed: \(error.localizedDescription)") } else { print("complete") }
    print("received: \(task.countOfBytesReceived) bytes")
  }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
    print("the session is invalid")
    invalidate.finish()
  }
}
