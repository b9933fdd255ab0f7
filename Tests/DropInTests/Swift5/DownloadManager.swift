import Foundation
import FoundationNetworking

// A download manager with progress, and the singleton that apps keep for background sessions.

protocol DownloadManagerDelegate: AnyObject {
  func manager(_ manager: DownloadManager, didMake progress: Float, for url: URL)
  func manager(_ manager: DownloadManager, didFinish url: URL, at location: URL)
  func manager(_ manager: DownloadManager, didFail url: URL, with error: Error)
}

struct Download {
  let url: URL
  let task: URLSessionDownloadTask
  var progress: Float = 0
  var isDownloading = true
}

class DownloadManager: NSObject {
  weak var delegate: DownloadManagerDelegate?
  var active: [URL: Download] = [:]
  let folder: URL
  private let lock = NSLock()

  lazy var session: URLSession = {
    let configuration = URLSessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = 2
    configuration.timeoutIntervalForRequest = 30
    configuration.httpAdditionalHeaders = ["X-Client": "downloads", "X-Build": 42]
    return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
  }()

  init(folder: URL) {
    self.folder = folder
    super.init()
  }

  func start(_ url: URL) {
    let task = session.downloadTask(with: url)
    task.taskDescription = url.lastPathComponent
    lock.lock()
    active[url] = Download(url: url, task: task)
    lock.unlock()
    task.resume()
  }

  func pause(_ url: URL) {
    guard var download = active[url], download.isDownloading else { return }
    download.task.suspend()
    download.isDownloading = false
    active[url] = download
  }

  func resume(_ url: URL) {
    guard var download = active[url], !download.isDownloading else { return }
    download.task.resume()
    download.isDownloading = true
    active[url] = download
  }

  func cancelAll() { session.invalidateAndCancel() }
}

extension DownloadManager: URLSessionDownloadDelegate {
  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    guard let source = downloadTask.originalRequest?.url else { return }
    let name = downloadTask.response?.suggestedFilename ?? source.lastPathComponent
    let destination = folder.appendingPathComponent(name)
    try? FileManager.default.removeItem(at: destination)
    do {
      try FileManager.default.copyItem(at: location, to: destination)
      delegate?.manager(self, didFinish: source, at: destination)
    } catch {
      delegate?.manager(self, didFail: source, with: error)
    }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    guard let url = downloadTask.originalRequest?.url, totalBytesExpectedToWrite > 0 else { return }
    delegate?.manager(self, didMake: Float(totalBytesWritten) / Float(totalBytesExpectedToWrite), for: url)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
    guard let url = task.originalRequest?.url else { return }
    lock.lock()
    active[url] = nil
    lock.unlock()
    guard let error = error else { return }
    if (error as NSError).code == NSURLErrorCancelled { return }
    delegate?.manager(self, didFail: url, with: error)
  }
}

/// `application(_:handleEventsForBackgroundURLSession:completionHandler:)` stores the handler, the session's delegate
/// calls it on the main queue when all events are delivered.
final class BackgroundTransfers: NSObject, URLSessionDelegate, URLSessionDownloadDelegate {
  static let shared = BackgroundTransfers()
  static let identifier = "org.example.app.background"

  var savedCompletionHandler: (() -> Void)?
  var finished: [URL] = []

  static func configuration() -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
    configuration.sessionSendsLaunchEvents = true
    configuration.isDiscretionary = false
    configuration.allowsCellularAccess = true
    return configuration
  }

  func makeSession(_ configuration: URLSessionConfiguration) -> URLSession {
    URLSession(configuration: configuration, delegate: self, delegateQueue: OperationQueue())
  }

  func handleEventsForBackgroundURLSession(identifier: String, completionHandler: @escaping () -> Void) {
    guard identifier == BackgroundTransfers.identifier else { return completionHandler() }
    savedCompletionHandler = completionHandler
  }

  func schedule(_ request: URLRequest, in session: URLSession, notBefore date: Date?) -> URLSessionDownloadTask {
    let task = session.downloadTask(with: request)
    task.earliestBeginDate = date
    task.countOfBytesClientExpectsToSend = 200
    task.countOfBytesClientExpectsToReceive = 500 * 1024
    task.resume()
    return task
  }

  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
    let handler = savedCompletionHandler
    savedCompletionHandler = nil
    handler?()
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    if let url = downloadTask.currentRequest?.url { finished.append(url) }
  }
}
