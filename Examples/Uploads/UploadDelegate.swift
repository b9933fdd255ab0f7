import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Tells the progress of uploads, gives streams to those that need one, and collects what the server answers.
final class UploadDelegate: NSObject, URLSessionDataDelegate {
  private struct State {
    var answer = Data()
    var continuation: CheckedContinuation<String, any Error>?
  }

  private let content: Data
  private let state = Mutex(State())

  init(content: Data) { self.content = content }

  /// Starts `task` and waits for the server's answer. One task at a time.
  func answer(to task: URLSessionUploadTask) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      state.withLock { $0 = State(continuation: continuation) }
      task.resume()
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    guard totalBytesSent == Int64(content.count) else { return }
    let isKnown = totalBytesExpectedToSend != NSURLSessionTransferSizeUnknown
    print("sent \(totalBytesSent) of \(isKnown ? String(totalBytesExpectedToSend) : "an unknown number of") bytes")
  }

  /// Called for each attempt: a stream can't be read twice.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) { completionHandler(InputStream(data: content)) }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    state.withLock { $0.answer.append(data) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let (answer, continuation) = state.withLock { ($0.answer, $0.continuation) }
    let isAccepted = (task.response as? HTTPURLResponse)?.statusCode == 200
    if let error = error ?? (isAccepted ? nil : URLError(.badServerResponse)) {
      continuation?.resume(throwing: error)
    } else {
      continuation?.resume(
        returning: String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }
  }
}
