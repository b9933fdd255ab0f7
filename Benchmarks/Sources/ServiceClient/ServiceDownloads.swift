import Foundation
import FoundationNetworking
import Harness

/// Files that the service downloads for one session, each in a place of its own in the end.
struct ServiceDownloads {
  let assignment: Assignment

  init(_ assignment: Assignment) { self.assignment = assignment }

  func run() async throws {
    let home = try ServiceHome(assignment)
    let service = try home.startServing().service
    let delegate = KeepingDelegate(folder: home.downloads, count: assignment.count)
    let configuration = URLSessionConfiguration.background(withIdentifier: "bench")
    configuration.httpMaximumConnectionsPerHost = assignment.connections
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    _ = await session.allTasks
    let files = FileSet(assignment)
    let figures = ProcessFigures(pid: service.pid)
    let before = figures.processorSeconds + ProcessFigures(pid: getpid()).processorSeconds
    let clock = ContinuousClock()
    let start = clock.now
    await withCheckedContinuation { finished in
      delegate.ends.whenOver { finished.resume() }
      for name in files.names {
        let task = session.downloadTask(with: files.url(name))
        task.taskDescription = name
        task.resume()
      }
    }
    let time = (clock.now - start).inSeconds
    let processor = figures.processorSeconds + ProcessFigures(pid: getpid()).processorSeconds - before
    let peak = figures.peakBytes
    let client = ProcessFigures(pid: getpid()).peakBytes
    // A session that is not over would start the service again.
    await withCheckedContinuation { ended in
      delegate.end.whenOver { ended.resume() }
      session.finishTasksAndInvalidate()
    }
    service.end()
    try files.check(in: home.downloads)
    home.remove()
    report(
      value: files.amount / time, peakRSS: peak,
      figures: ["processor": processor, "client": Double(client) / 1_048_576])
  }
}

/// Moves each file to where it belongs.
final class KeepingDelegate: NSObject, URLSessionDownloadDelegate, Sendable {
  let ends: Countdown
  /// The session's.
  let end = Countdown(1)
  private let folder: String

  init(folder: String, count: Int) {
    self.folder = folder
    ends = Countdown(count)
  }

  func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    let target = "\(folder)/\(downloadTask.taskDescription ?? "")"
    guard rename(location.path, target) == 0 else { fail("\(location.path) can't be moved to \(target): \(errno)") }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if let error { fail("\(error)") }
    ends.countDown()
  }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { end.countDown() }
}
