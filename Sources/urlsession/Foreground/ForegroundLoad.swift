import CommandLineOutput
import Foundation
import Synchronization
import URLLoadingSystem

/// One load in the foreground.
///
/// To a stream, a data task whose delegate writes each piece before it takes the next: the session holds the server back
/// meanwhile. To a file, a download task, whose file is put in its place when all is well.
final class ForegroundLoad: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
  private struct State {
    var failure: CommandFailure?
    var path: String?
    var bytes: Int64 = 0
    var hasShownHead = false
    /// The body is not the file that was asked for.
    var isRefused = false
    /// The program is about to end by a signal.
    var isInterrupted = false
    var workFolder: HiddenFolder?
    var task: URLSessionTask?
    var metrics: URLSessionTaskMetrics?
    var finish: CheckedContinuation<(any Error)?, Never>?
  }

  private let request: URLRequest
  private let target: OutputTarget
  private let answers: CredentialAnswers
  /// The bytes that an earlier load has left, and to which this one leaves its own; nil where nothing is kept.
  private let kept: KeptPart?
  private let includesHead: Bool
  private let verbose: VerboseLog?
  private let progress: ProgressPrinter
  private let state = Mutex(State())
  /// Held while the file gets its name.
  private let placing = Mutex(())

  init(
    request: URLRequest, target: OutputTarget, kept: KeptPart? = nil, answers: CredentialAnswers, includesHead: Bool,
    isVerbose: Bool, isQuiet: Bool
  ) {
    self.request = request
    self.target = target
    self.kept = kept
    self.answers = answers
    self.includesHead = includesHead
    if case .destination = target {
      progress = ProgressPrinter(isQuiet: isQuiet)
    } else {
      progress = ProgressPrinter(isQuiet: true)
    }
    verbose = isVerbose ? VerboseLog(printer: progress) : nil
  }

  func run(configuration: URLSessionConfiguration) async -> GetReport {
    var report = GetReport(url: request.url)
    let started = ContinuousClock.now
    let interruption = await Interruption { [self] in interrupted() }
    defer { interruption.end() }
    do {
      if let kept {
        setenv("TMPDIR", kept.path, 1)
      } else if case .destination(let destination) = target {
        // The library's temporary files follow TMPDIR: beside the destination, the last step is a mere renaming.
        let folder = try HiddenFolder.make(beside: destination)
        state.withLock { $0.workFolder = folder }
        setenv("TMPDIR", folder.path, 1)
      }
    } catch {
      report.fail(error as? CommandFailure ?? .loading(error))
      return report
    }
    configuration.observer = verbose?.observer
    let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    let task = task(of: session)
    verbose?.say(VerboseLines.loading(request.url))
    let error = await withCheckedContinuation { continuation in
      state.withLock { ($0.finish, $0.task) = (continuation, task) }
      task.resume()
    }
    session.finishTasksAndInvalidate()
    progress.finish()
    report.seconds = (ContinuousClock.now - started) / .seconds(1)
    let (failure, path, bytes, isRefused) = state.withLock { ($0.failure, $0.path, $0.bytes, $0.isRefused) }
    state.withLock { $0.workFolder }?.remove()
    report.path = path
    report.bytes = bytes
    report.adopt(task.response)
    let isKept = keep((error as? URLError)?.downloadTaskResumeData)
    if let failure {
      report.fail(failure)
    } else if let error {
      var failure = CommandFailure.loading(error, socket: configuration.unixSocketPath)
      if isKept { failure.advice = "\(ByteFormat.bytes(bytes)) are kept, and the same command goes on with them" }
      report.fail(failure)
    } else if let status = report.status, status >= 400 || isRefused {
      report.fail(
        .http(status: status, url: report.finalURL ?? report.url, advice: answers.advice(for: status)))
    }
    return report
  }

  private func task(of session: URLSession) -> URLSessionTask {
    if case .stream = target { return session.dataTask(with: request) }
    guard let data = kept?.resumeData(for: key) else { return session.downloadTask(with: request) }
    return session.downloadTask(withResumeData: data)
  }

  /// Names the resource in the note of what is kept.
  private var key: String { request.url?.absoluteString ?? "" }

  /// Keeps the bytes that have arrived, or removes them where they are of no use. Returns whether they are kept.
  private func keep(_ resumeData: Data?) -> Bool {
    guard let kept else { return false }
    guard let resumeData else {
      kept.remove()
      return false
    }
    do {
      try kept.keep(resumeData, for: key)
      return true
    } catch {
      fail(error)
      return false
    }
  }

  /// Runs when a signal has come; the program ends right after.
  private func interrupted() {
    progress.finish()
    let (folder, task) = state.withLock { state in
      state.isInterrupted = true
      return (state.workFolder, state.task)
    }
    folder?.remove()
    guard kept != nil, let task = task as? URLSessionDownloadTask else {
      return StandardError.print("urlsession: interrupted: \(remainder)")
    }
    let isDone = DispatchSemaphore(value: 0)
    let isKept = Mutex(false)
    task.cancel { [self] data in
      isKept.withLock { $0 = keep(data) }
      isDone.signal()
    }
    // A disk that does not answer keeps no program from ending.
    _ = isDone.wait(timeout: .now() + ForegroundLoad.patience)
    let what =
      isKept.withLock(\.self)
      ? "\(ByteFormat.bytes(state.withLock { $0.bytes })) are kept, and the same command goes on with them"
      : remainder
    StandardError.print("urlsession: interrupted: \(what)")
  }

  /// Seconds that the bytes of an interrupted load may take to be kept.
  private static let patience = 10.0

  private var again: String { "start it again when you want it" }

  /// The part of the body that is still there after an interruption.
  private var remainder: String {
    // A file that is on its way to its place gets there first.
    let (bytes, path) = placing.withLock { _ in state.withLock { ($0.bytes, $0.path) } }
    // The signal came between the end of the load and that of the program.
    if let path { return "\(path) is whole" }
    guard case .stream(_, let name) = target, bytes > 0 else { return "nothing was kept, \(again)" }
    return "\(ByteFormat.bytes(bytes)) were written to \(name), \(again)"
  }

  /// Once the load has ended.
  var metrics: URLSessionTaskMetrics? { state.withLock { $0.metrics } }

  // MARK: Heads

  /// The first sign of a response shows its head.
  private func noticeResponse(_ response: URLResponse?) {
    guard let response else { return }
    let isFirst = state.withLock { state in
      defer { state.hasShownHead = true }
      return !state.hasShownHead
    }
    guard isFirst else { return }
    // Those of HTTP were told as they came.
    if !(response is HTTPURLResponse) { verbose?.say(VerboseLines.response(response)) }
    guard includesHead else { return }
    let head = HeadLines.lines(of: response).joined(separator: "\r\n") + "\r\n\r\n"
    let output: StreamOutput =
      if case .stream(let descriptor, let name) = target {
        StreamOutput(descriptor: descriptor, name: name)
      } else {
        StreamOutput(descriptor: STDOUT_FILENO, name: "standard output")
      }
    do { try output.write(Data(head.utf8)) } catch { fail(error) }
  }

  private func fail(_ error: any Error) {
    let failure = error as? CommandFailure ?? .loading(error)
    state.withLock { $0.failure = $0.failure ?? failure }
  }

  private var hasFailed: Bool { state.withLock { $0.failure != nil } }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    verbose?.say(VerboseLines.loading(request.url))
    completionHandler(request)
  }

  // MARK: Challenges

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    if let trust = challenge.protectionSpace.serverTrust { verbose?.serverShowed(trust) }
    answer(challenge, completionHandler)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) { answer(challenge, completionHandler) }

  private func answer(
    _ challenge: URLAuthenticationChallenge,
    _ completionHandler: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let (disposition, credential) = answers.answer(to: challenge)
    completionHandler(disposition, credential)
  }

  // MARK: To a stream

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    noticeResponse(response)
    completionHandler(hasFailed ? .cancel : .allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    guard case .stream(let descriptor, let name) = target, !hasFailed else { return }
    do {
      try StreamOutput(descriptor: descriptor, name: name).write(data)
      state.withLock { $0.bytes += Int64(data.count) }
    } catch {
      fail(error)
      dataTask.cancel()
    }
  }

  // MARK: To a file

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    noticeResponse(downloadTask.response)
    state.withLock { $0.bytes = totalBytesWritten }
    progress.update(done: totalBytesWritten, total: totalBytesExpectedToWrite)
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) {
    state.withLock { $0.bytes = fileOffset }
    progress.update(done: fileOffset, total: expectedTotalBytes)
    verbose?.say(["* Going on behind the first \(fileOffset) bytes"])
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    noticeResponse(downloadTask.response)
    guard case .destination(let destination) = target, !hasFailed else { return }
    guard RefusedAnswer(to: downloadTask, file: location.path) == nil else {
      return state.withLock { $0.isRefused = true }
    }
    placing.withLock { _ in
      // Then a signal's action has said that there is no file, unless it waits for the end of the load.
      guard kept != nil || !state.withLock({ $0.isInterrupted }) else { return }
      do {
        let path = try FilePlacement.place(
          location.path, at: destination, suggestedName: downloadTask.response?.suggestedFilename)
        state.withLock { $0.path = path }
      } catch { fail(error) }
    }
  }

  // MARK: The end

  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
    state.withLock { $0.metrics = metrics }
    guard let verbose else { return }
    noticeResponse(task.response)
    verbose.ended(metrics)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let finish = state.withLock { state -> CheckedContinuation<(any Error)?, Never>? in
      // The signal's action ends the program, with the signal's status.
      guard !state.isInterrupted || kept == nil else { return nil }
      defer { state.finish = nil }
      return state.finish
    }
    finish?.resume(returning: error)
  }
}
