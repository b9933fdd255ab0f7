import Foundation
import Synchronization
import URLLoadingSystem

/// Takes a finished background download and puts it in its place, in the process that is told of the end: the one that
/// asked for it, one that waits for it, or one that the service started for it.
///
/// Every call may come again after a crash, with a file of its own; the record tells what was done already.
final class DownloadReceiver: NSObject, URLSessionDownloadDelegate, Sendable {
  private struct State {
    var calls = 0
    var lastCallEnded = ContinuousClock.now
    var completionError: (any Error)?
  }

  private let state = Mutex(State())
  private let eventsFinished: @Sendable () -> Void
  private let becameInvalid: @Sendable ((any Error)?) -> Void

  /// - Parameters:
  ///   - eventsFinished: Every event of the session was handled.
  ///   - becameInvalid: The session can't be used, for example because another process has it.
  init(
    eventsFinished: @escaping @Sendable () -> Void = {},
    becameInvalid: @escaping @Sendable ((any Error)?) -> Void = { _ in }
  ) {
    self.eventsFinished = eventsFinished
    self.becameInvalid = becameInvalid
  }

  /// The task's error, once it was told.
  var completionError: (any Error)? { state.withLock { $0.completionError } }

  /// How long nothing has happened; nil while a call is being handled.
  var idleTime: Duration? {
    state.withLock { $0.calls == 0 ? ContinuousClock.now - $0.lastCallEnded : nil }
  }

  // MARK: The calls

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    handling {
      if let response = downloadTask.response as? HTTPURLResponse, response.statusCode >= 400 { return }
      let finished = FinishedDownload(session: session, task: downloadTask)
      do {
        try finished.place(location.path)
      } catch {
        // A process that ends before it returns from this call leaves the file with the service, which sends the event
        // again.
        let failure = error as? CommandFailure ?? .cannotWrite(finished.note.destination.path, "\(error)")
        StandardError.print(failure.line)
        exit(failure.status.rawValue)
      }
    }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    handling {
      state.withLock { $0.completionError = error }
      FinishedDownload(session: session, task: task).complete(error)
    }
  }

  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { eventsFinished() }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { becameInvalid(error) }

  private func handling(_ action: () -> Void) {
    state.withLock { $0.calls += 1 }
    action()
    state.withLock { state in
      state.calls -= 1
      state.lastCallEnded = ContinuousClock.now
    }
  }
}
