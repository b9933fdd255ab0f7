import Foundation
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// The session's delegate: counts bytes and files of every task, and watches that nothing comes after the end.
final class StressDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
  private struct Progress {
    var bytes: Int64 = 0
    var hasFile = false
    var hasEnded = false
  }

  private let tally: Tally
  private let size: Int64
  private let progress = Mutex<[Int: Progress]>([:])
  let invalid = DispatchSemaphore(value: 0)

  init(tally: Tally, bodySize: Int64) {
    self.tally = tally
    size = bodySize
  }

  private func note(_ task: URLSessionTask, _ what: String, _ change: (inout Progress) -> Void) {
    let isLate = progress.withLock { progress in
      change(&progress[task.taskIdentifier, default: Progress()])
      return progress[task.taskIdentifier]?.hasEnded == true
    }
    if isLate { tally.complain("\(what) after the end of task \(task.taskIdentifier)") }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    note(dataTask, "data") { $0.bytes += Int64(data.count) }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    let size = (try? FileManager.default.attributesOfItem(atPath: location.path)[.size] as? Int64) ?? -1
    note(downloadTask, "a file") {
      $0.hasFile = true
      $0.bytes = size
    }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
    note(task, "metrics") { _ in }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let progress = progress.withLock { progress in
      let before = progress[task.taskIdentifier] ?? Progress()
      progress[task.taskIdentifier, default: Progress()].hasEnded = true
      return before
    }
    let number = task.taskDescription.flatMap { Int($0) } ?? -1
    let isWhole = task is URLSessionUploadTask || progress.bytes == size
    tally.end(number, error, isWhole: isWhole && progress.hasFile == (task is URLSessionDownloadTask))
  }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { invalid.signal() }
}
