import Foundation
import TransferScript
import URLLoadingSystem

/// Carries out what comes on standard input, one after the other.
final class CommandReader {
  private let session: URLSession
  private let script: AppScript
  private let acknowledgements = Acknowledgements()
  /// Those made here.
  private var made: [String: URLSessionTask] = [:]

  init(session: URLSession, script: AppScript) {
    self.session = session
    self.script = script
  }

  func perform(_ command: AppCommand, number: Int) async throws {
    let began = ContinuousClock.now
    switch command {
    case .download(let url, let label, let count, let mark, let startsSuspended, let delay):
      guard let url = URL(string: url) else { throw URLError(.badURL) }
      var request = URLRequest(url: url)
      if let mark { request.setValue(mark, forHTTPHeaderField: "X-Mark") }
      for index in 1...count {
        let task = session.downloadTask(with: request)
        task.taskDescription = count == 1 ? label : "\(label)-\(index)"
        // So few bytes wait for no power and for no idle machine.
        if session.configuration.isDiscretionary { task.countOfBytesClientExpectsToReceive = 100 }
        task.earliestBeginDate = delay.map { Date(timeIntervalSinceNow: $0) }
        made[task.taskDescription ?? ""] = task
        task.resume()
        if startsSuspended { task.suspend() }
      }
    case .upload(let url, let file, let label, let method):
      guard let url = URL(string: url) else { throw URLError(.badURL) }
      var request = URLRequest(url: url)
      request.httpMethod = method
      let task = session.uploadTask(with: request, fromFile: URL(fileURLWithPath: file))
      task.taskDescription = label
      made[label] = task
      task.resume()
    case .resume(let label): await task(label)?.resume()
    case .resumeAll:
      for task in await session.allTasks {
        // A resumption alone does not let one go on that was set aside.
        if task.state == .running, task.reasonForWaiting?.kind == .setAside { task.suspend() }
        if task.state == .suspended { task.resume() }
      }
    case .suspend(let label): await task(label)?.suspend()
    case .cancel(let label): await task(label)?.cancel()
    case .describe(let label, let newLabel, let priority):
      let task = await task(label)
      task?.taskDescription = newLabel
      task?.priority = priority
    case .mark(let label, let mark):
      guard let task = await task(label), var request = task.currentRequest else { break }
      request.setValue(mark, forHTTPHeaderField: "X-Mark")
      try await task.replaceRequest(with: request)
    case .continueAnew(let label, let newLabel): await continueAnew(label, as: newLabel)
    case .list: await list()
    case .logAcknowledged:
      // A service that is away or hangs must not keep the next command waiting.
      Task { [script, acknowledgements] in try await acknowledgements.log(to: script) }
    case .flush: await session.flush()
    case .invalidateAndCancel: session.invalidateAndCancel()
    case .exit: exit(0)
    }
    var entry = AppEntry(.done)
    entry.command = number
    entry.seconds = (ContinuousClock.now - began) / .seconds(1)
    script.log(entry)
  }

  private func continueAnew(_ label: String, as newLabel: String) async {
    guard let download = await task(label) as? URLSessionDownloadTask,
      let data = await download.cancelByProducingResumeData()
    else { return }
    let task = session.downloadTask(withResumeData: data)
    task.taskDescription = newLabel
    made[newLabel] = task
    task.resume()
  }

  private func task(_ label: String) async -> URLSessionTask? {
    if let task = made[label] { return task }
    return await session.allTasks.first { $0.taskDescription == label }
  }

  private func list() async {
    var entry = AppEntry(.tasks)
    entry.tasks = await session.allTasks.map { task in
      AppTask(
        identifier: task.taskIdentifier, label: task.taskDescription,
        url: task.originalRequest?.url?.absoluteString, mark: task.originalRequest?.value(forHTTPHeaderField: "X-Mark"),
        state: task.state.rawValue, received: task.countOfBytesReceived, priority: task.priority)
    }
    script.log(entry)
  }
}
