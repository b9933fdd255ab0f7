import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Receives the events of background sessions, in the process that started their tasks or in a later one.
final class SessionDelegate: NSObject, URLSessionDownloadDelegate {
  static let shared = SessionDelegate()

  private let completionHandlers = Mutex<[String: @Sendable () -> Void]>([:])
  private let log = Mutex<[String]>([])

  func add(_ completionHandler: @escaping @Sendable () -> Void, forSession identifier: String) {
    log.withLock { $0.append("started again for the session \(identifier)") }
    completionHandlers.withLock { $0[identifier] = completionHandler }
  }

  /// The file at `location` is deleted when this returns.
  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    guard let path = downloadTask.taskDescription else { return }
    let target = URL(fileURLWithPath: path)
    do {
      try? FileManager.default.removeItem(at: target)
      try FileManager.default.moveItem(at: location, to: target)
      let size = try target.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
      log.withLock { $0.append("finished downloading \(size) bytes") }
    } catch {
      log.withLock { $0.append("could not place the file: \(error.localizedDescription)") }
    }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    log.withLock { log in
      log.append(error.map { "failed: \($0.localizedDescription)" } ?? "complete")
      guard let path = task.taskDescription else { return }
      // This process has no terminal.
      try? (log.joined(separator: "\n") + "\n").write(toFile: path + ".log", atomically: true, encoding: .utf8)
    }
  }

  /// Everything was told: the app may be suspended, or end.
  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
    guard let identifier = session.configuration.identifier else { return }
    let handler = completionHandlers.withLock { $0.removeValue(forKey: identifier) }
    handler?()
  }
}
