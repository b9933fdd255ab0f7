import Foundation
import FoundationNetworking
import Harness

/// An app that has many tasks in one background session, none of which is to begin today.
struct QueuedTasks {
  let assignment: Assignment

  init(_ assignment: Assignment) { self.assignment = assignment }

  /// Reports the time from the first task until the service has them all on the disk.
  func enqueue() async throws {
    let (session, _) = makeSession()
    let earlier = await session.allTasks
    guard earlier.isEmpty else { fail("there are \(earlier.count) tasks already") }
    let tomorrow = Date(timeIntervalSinceNow: 86_400)
    let clock = ContinuousClock()
    let start = clock.now
    for _ in 0..<assignment.count {
      let task = session.downloadTask(with: assignment.url)
      task.earliestBeginDate = tomorrow
      task.resume()
    }
    await session.flush()
    report(figures: ["enqueue": (clock.now - start).inSeconds])
  }

  /// Reports the time until a new process has all tasks as objects, and the time from the first `cancel()` until the end
  /// of the last one was told.
  func listAndCancel() async throws {
    let clock = ContinuousClock()
    let start = clock.now
    let (session, delegate) = makeSession()
    let tasks = await session.allTasks
    let listed = clock.now
    guard tasks.count == assignment.count else { fail("\(tasks.count) tasks instead of \(assignment.count)") }
    let cancelling = clock.now
    await withCheckedContinuation { finished in
      delegate.ends.whenOver { finished.resume() }
      for task in tasks { task.cancel() }
    }
    report(figures: ["api": (listed - start).inSeconds, "cancel": (clock.now - cancelling).inSeconds])
  }

  private func makeSession() -> (URLSession, CountingDelegate) {
    let delegate = CountingDelegate(count: assignment.count)
    return (
      URLSession(configuration: .background(withIdentifier: "bench"), delegate: delegate, delegateQueue: nil), delegate
    )
  }
}

/// Counts tasks that were cancelled.
final class CountingDelegate: NSObject, URLSessionDownloadDelegate, Sendable {
  let ends: Countdown

  init(count: Int) { ends = Countdown(count) }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard (error as? URLError)?.code == .cancelled else {
      fail("a task ended with \(error.map { "\($0)" } ?? "success")")
    }
    ends.countDown()
  }

  func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {}
}
