import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Passes on what happens to download tasks.
final class DownloadDelegate: NSObject, URLSessionDownloadDelegate {
  enum Event: Sendable {
    case progress(written: Int64, expected: Int64)
    case resumed(offset: Int64, expected: Int64)
    case finished(URL)
    case failed(any Error)
  }

  let events: AsyncStream<Event>
  private let continuation: AsyncStream<Event>.Continuation

  override init() {
    (events, continuation) = AsyncStream.makeStream()
    super.init()
  }

  /// The file at `location` is deleted when this returns: it has to be moved, or opened.
  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    let target = FileManager.default.temporaryDirectory.appendingPathComponent("download-\(UUID().uuidString)")
    do {
      try FileManager.default.moveItem(at: location, to: target)
      continuation.yield(.finished(target))
    } catch { continuation.yield(.failed(error)) }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) { continuation.yield(.progress(written: totalBytesWritten, expected: totalBytesExpectedToWrite)) }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) { continuation.yield(.resumed(offset: fileOffset, expected: expectedTotalBytes)) }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if let error { continuation.yield(.failed(error)) }
  }
}
