import Foundation
import LoopbackServer
import URLLoadingSystem

/// A delegate that checks the downloaded file against a pattern and notes where downloads resume.
final class ResumingDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, @unchecked Sendable {
  // Sendable by hand: `pattern` and `onResume` are set before the first task is made.
  var pattern = BytePattern()
  var onResume: @Sendable (URLSessionDownloadTask) -> Void = { _ in }
  var becomesDownload = false
  /// What the finished file is not: nil in it means that it is the pattern.
  let files = Recorder<String?>()
  let resumptions = Recorder<[Int64]>()
  let writes = Recorder<[Int64]>()
  let ends = Recorder<URLError?>()
  let downloads = Recorder<URLSessionDownloadTask>()

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    files.record(pattern.difference(toFile: location.path, count: downloadTask.countOfBytesReceived))
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) {
    onResume(downloadTask)
    resumptions.record([fileOffset, expectedTotalBytes])
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) { writes.record([bytesWritten, totalBytesWritten, totalBytesExpectedToWrite]) }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    ends.record(error as? URLError)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) { completionHandler(becomesDownload ? .becomeDownload : .allow) }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
  ) { downloads.record(downloadTask) }

  func makeSession() -> URLSession {
    URLSession(configuration: .loopback, delegate: self, delegateQueue: serialQueue())
  }
}

/// The partial files of this user's downloads that nobody took yet, of this process or another.
func partialFile(of resumeData: Data) throws -> URL {
  let list = try PropertyListSerialization.propertyList(from: resumeData, format: nil) as? [String: Any]
  let name = list?["NSURLSessionResumeInfoTempFileName"] as? String ?? ""
  return FileManager.default.temporaryDirectory.appendingPathComponent("urlsession-\(getuid())/\(name)")
}

/// Downloads until `count` bytes have arrived, then cancels for resume data.
func interrupt(_ task: URLSessionDownloadTask, after count: Int64) async throws -> Data? {
  task.resume()
  try await eventually("\(count) bytes") { task.countOfBytesReceived == count }
  return await task.cancelByProducingResumeData()
}
