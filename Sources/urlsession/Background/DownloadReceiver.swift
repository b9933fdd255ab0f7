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
    /// Whether the server has answered with something else than a question.
    var isAnswered = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let login: DownloadLogin?
  private let eventsFinished: @Sendable () -> Void
  private let downloadEnded: @Sendable (DownloadRecord) -> Void
  private let becameInvalid: @Sendable ((any Error)?) -> Void

  /// - Parameters:
  ///   - login: What is said to the server; nil: what the keychain has for the download.
  ///   - eventsFinished: Every event of the session was handled.
  ///   - downloadEnded: The download is over, and its file in place.
  ///   - becameInvalid: The session can't be used, for example because another process has it.
  init(
    login: DownloadLogin? = nil, eventsFinished: @escaping @Sendable () -> Void = {},
    downloadEnded: @escaping @Sendable (DownloadRecord) -> Void = { _ in },
    becameInvalid: @escaping @Sendable ((any Error)?) -> Void = { _ in }
  ) {
    self.login = login
    self.eventsFinished = eventsFinished
    self.downloadEnded = downloadEnded
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
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    state.withLock { $0.calls += 1 }
    defer { callEnded() }
    guard let url = task.originalRequest?.url, let identifier = session.configuration.identifier else {
      return (.performDefaultHandling, nil)
    }
    var login = login
    if login == nil, FinishedDownload(session: session, task: task).hasLogin {
      login = await DownloadLogin.read(session: identifier, url: url)
    }
    guard let login else { return (.performDefaultHandling, nil) }
    let answers = CredentialAnswers(for: url, user: login.user, password: login.password) { _ in nil }
    let answer = answers.answer(to: challenge)
    return (answer.disposition, answer.credential)
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) { serverAnswered() }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    handling {
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
      let finished = FinishedDownload(session: session, task: task)
      finished.complete(error)
      if let record = finished.record { downloadEnded(record) }
      if finished.hasLogin, let identifier = session.configuration.identifier {
        // This process may end with this call. It is not made on a thread of Swift's tasks.
        let isRemoved = DispatchSemaphore(value: 0)
        Task.detached {
          await DownloadLogin.remove(session: identifier)
          isRemoved.signal()
        }
        isRemoved.wait()
      }
    }
    serverAnswered()
  }

  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { eventsFinished() }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
    serverAnswered()
    becameInvalid(error)
  }

  private func handling(_ action: () -> Void) {
    state.withLock { $0.calls += 1 }
    action()
    callEnded()
  }

  private func callEnded() {
    state.withLock { state in
      state.calls -= 1
      state.lastCallEnded = ContinuousClock.now
    }
  }

  // MARK: The server's answer

  /// Returns when the server has let the download in, or it is over, or the limit has passed.
  func waitForAnswer(limit: Duration?) async {
    let timer = limit.map { limit in
      Task {
        try await Task.sleep(for: limit)
        self.serverAnswered()
      }
    }
    await withCheckedContinuation { continuation in
      let isAnswered = state.withLock { state in
        if !state.isAnswered { state.waiting.append(continuation) }
        return state.isAnswered
      }
      if isAnswered { continuation.resume() }
    }
    timer?.cancel()
  }

  private func serverAnswered() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      state.isAnswered = true
      return state.waiting
    }
    for waiter in waiting { waiter.resume() }
  }
}
