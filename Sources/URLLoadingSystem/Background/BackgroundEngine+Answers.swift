import Foundation
import HTTPTransport
import NIOCore

/// The ends of upload and data tasks: what the service has kept in a file is given to the delegate as data.
extension BackgroundEngine {
  /// The service has told every event of a task that succeeded.
  func succeed(_ work: BackgroundWork) {
    assertConfined()
    guard let file = work.state.finishedFile else { return finish(work, .success(.nothing)) }
    guard let task = work.task as? URLSessionDataTask else { return finish(work, .success(.file(file))) }
    // Without a delegate the events wait for a process that has one.
    guard let delivery = work.delivery else { return finish(work, .success(.nothing)) }
    let control = LoadControl(loop: executor.loop, sweeper: executor.sweeper)
    Task(executorPreference: executor) {
      let answer = Answer(
        file: file, task: task, session: task.lockedState.withLock { $0.session }, delivery, control,
        loop: self.executor.loop)
      let end: Result<Answer.End, any Error>
      do { end = .success(try await answer.tell()) } catch { end = .failure(error) }
      // The session may have failed meanwhile, and the task with it.
      guard self.works[task.taskIdentifier] === work else { return }
      switch end {
      case .success(.told): self.finish(work, .success(.nothing))
      case .success(.became(let download)): self.finish(work, .success(.file(file)), as: download)
      case .failure(let error): self.finish(work, .failure(error))
      }
    }
  }

  func sent(_ work: BackgroundWork, to sent: Int64, expected: Int64) {
    assertConfined()
    let before = work.task.bytesSent.load(ordering: .relaxed)
    work.adopt(sent: sent, expected: expected)
    guard sent > before else { return }
    work.delivery?.didSend(work.task, bytes: sent - before, total: sent, expected: expected)
  }
}

/// The body of an answer on its way to the delegate, at the pace at which the delegate takes it. Confined to the engine's
/// loop.
private struct Answer {
  enum End {
    case told
    case became(URLSessionDownloadTask)
  }

  let file: URL
  let task: URLSessionDataTask
  let session: URLSession?
  let delivery: TaskDelivery
  let control: LoadControl
  let loop: any EventLoop

  init(
    file: URL, task: URLSessionDataTask, session: URLSession?, _ delivery: TaskDelivery, _ control: LoadControl,
    loop: any EventLoop
  ) {
    self.file = file
    self.task = task
    self.session = session
    self.delivery = delivery
    self.control = control
    self.loop = loop
  }

  func tell() async throws -> End {
    loop.assertInEventLoop()
    switch try await disposition() {
    case .allow: break
    case .cancel, .becomeStream: throw ErrorMapping.cancelled
    case .becomeDownload:
      if let download = becomeDownload() { return .became(download) }
    }
    let reader = try await FileReader.open(file, loop: loop)
    defer { reader.close() }
    while let chunk = try await reader.next() { try await delivery.deliver(chunk, of: task, control: control) }
    return .told
  }

  /// The delegate of an upload is not asked.
  private func disposition() async throws -> URLSession.ResponseDisposition {
    guard !(task is URLSessionUploadTask), let session, let response = task.response else { return .allow }
    let (task, delivery) = (self.task, self.delivery)
    return try await delivery.ask(
      .response, fallback: URLSession.ResponseDisposition.cancel, control: control
    ) { facets, answer in
      facets.data?.urlSession(session, dataTask: task, didReceive: response, completionHandler: answer)
    } ?? .allow
  }

  private func becomeDownload() -> URLSessionDownloadTask? {
    guard let session, let work = task.lockedState.withLock({ $0.work }) else { return nil }
    let (task, delivery) = (self.task, self.delivery)
    let download = session.makeDownloadTask(continuing: task, work: work)
    delivery.task = download
    delivery.post(.becameDownload) { $0.data?.urlSession(session, dataTask: task, didBecome: download) }
    delivery.post { session.forgetPredecessor(task) }
    return download
  }
}
