import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Loads files into a folder. Its state belongs to the main actor, and the session calls it there.
@MainActor
final class DownloadManager: NSObject {
  enum State: Sendable {
    case running(fraction: Double)
    case paused(fraction: Double)
    case resumed(offset: Int64)
    case finished(URL)
    case failed(String)
  }

  private struct Download {
    let source: URL
    var task: URLSessionDownloadTask
    var fraction = 0.0
    var isPaused = false
    var resumeData: Data?
  }

  /// What happens to downloads, by name.
  nonisolated let changes: AsyncStream<(String, State)>

  private let report: AsyncStream<(String, State)>.Continuation
  private let folder: URL
  private var downloads: [String: Download] = [:]
  private lazy var session = URLSession(configuration: .default, delegate: self, delegateQueue: .main)

  init(folder: URL) {
    self.folder = folder
    (changes, report) = AsyncStream.makeStream()
    super.init()
  }

  /// The file gets `name`.
  func start(_ name: String, from source: URL) {
    let download = Download(source: source, task: session.downloadTask(with: source))
    downloads[name] = download
    begin(download.task, of: name)
  }

  /// Ends the task, and keeps what a later one needs to go on.
  func pause(_ name: String) async {
    guard let download = downloads[name], !download.isPaused else { return }
    downloads[name]?.isPaused = true
    // nil: there is nothing to go on with. Then the download starts over.
    downloads[name]?.resumeData = await download.task.cancelByProducingResumeData()
    report.yield((name, .paused(fraction: download.fraction)))
  }

  func resume(_ name: String) {
    guard var download = downloads[name], download.isPaused else { return }
    download.task =
      download.resumeData.map { session.downloadTask(withResumeData: $0) }
      ?? session.downloadTask(with: download.source)
    download.isPaused = false
    download.resumeData = nil
    downloads[name] = download
    begin(download.task, of: name)
  }

  private func begin(_ task: URLSessionDownloadTask, of name: String) {
    task.taskDescription = name
    task.resume()
  }

  private func end(_ name: String, as state: State) {
    downloads[name] = nil
    report.yield((name, state))
  }
}

extension DownloadManager: URLSessionDownloadDelegate {
  nonisolated func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    MainActor.assumeIsolated {
      guard let name = downloadTask.taskDescription, totalBytesExpectedToWrite > 0 else { return }
      let fraction = Double(totalBytesWritten) / Double(totalBytesExpectedToWrite)
      downloads[name]?.fraction = fraction
      report.yield((name, .running(fraction: fraction)))
    }
  }

  nonisolated func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) {
    MainActor.assumeIsolated {
      guard let name = downloadTask.taskDescription else { return }
      report.yield((name, .resumed(offset: fileOffset)))
    }
  }

  nonisolated func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    MainActor.assumeIsolated {
      guard let name = downloadTask.taskDescription else { return }
      // A page that says what is wrong is no error of the transfer.
      guard let status = (downloadTask.response as? HTTPURLResponse)?.statusCode, 200..<300 ~= status else {
        return end(name, as: .failed("status \((downloadTask.response as? HTTPURLResponse)?.statusCode ?? 0)"))
      }
      let target = folder.appendingPathComponent(name)
      do {
        try FileManager.default.moveItem(at: location, to: target)
        end(name, as: .finished(target))
      } catch { end(name, as: .failed(error.localizedDescription)) }
    }
  }

  nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    MainActor.assumeIsolated {
      // The end of a task that was paused is not the end of its download.
      guard let error, let name = task.taskDescription, let download = downloads[name], download.task == task,
        !download.isPaused
      else { return }
      end(name, as: .failed(error.localizedDescription))
    }
  }
}
