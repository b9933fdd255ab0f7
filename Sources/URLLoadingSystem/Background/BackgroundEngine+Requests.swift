import Foundation
import NIOPosix
import SystemServices
import TransferProtocol

extension BackgroundEngine {
  func perform(_ actions: [Outbox.Action]) {
    assertConfined()
    for action in actions {
      switch action {
      case .create(let creations): create(creations)
      case .send(let request, let task): send(request, task)
      case .cancel(let tasks): cancel(tasks)
      case .gatherCancellations:
        after(BackgroundEngine.gatheringPause) { $0.perform($0.outbox.cancellationsGathered()) }
      case .pause: after(BackgroundEngine.pauseAfterRefusal) { $0.perform($0.outbox.pauseEnded()) }
      case .fail(let task, let sentence):
        if let work = works[task] { finish(work, .failure(ErrorMapping.make(.unknown, because: sentence))) }
      case .flushed: runFlushWaiters()
      }
    }
  }

  private func cancel(_ tasks: [Int]) {
    send(.cancelTasks(TaskSelection(session: identifier, taskIdentifiers: tasks))) { engine, result in
      engine.perform(engine.outbox.cancellationEnded(tasks, engine.outcome(result)))
    }
  }

  private func send(_ request: Outbox.Request, _ task: Int) {
    if case .cancel(producingResumePoint: true) = request { works[task]?.awaitResumePoint() }
    send(message(request, task)) { engine, result in
      if case .edit(let edit) = request { return engine.editEnded(edit, task: task, engine.outcome(result)) }
      engine.perform(engine.outbox.requestEnded(request, task: task, engine.outcome(result)))
    } always: { engine, result in
      guard case .cancel(producingResumePoint: true) = request, let work = engine.works[task] else { return }
      engine.resumePointArrived(result, for: work)
    }
  }

  private func message(_ request: Outbox.Request, _ task: Int) -> ClientRequest {
    let selection = TaskSelection(session: identifier, taskIdentifiers: [task])
    switch request {
    case .suspend: return .suspendTasks(selection)
    case .resume: return .resumeTasks(selection)
    case .cancel(let producingResumePoint):
      return .cancelTask(
        CancelTask(session: identifier, taskIdentifier: task, producingResumePoint: producingResumePoint))
    case .update(let before, let after):
      var update = UpdateTask(session: identifier, taskIdentifier: task)
      after.write(to: &update, from: before)
      return .updateTask(update)
    case .edit(var edit):
      edit.transfer = works[task]?.state.transfer ?? 0
      return .editTransfer(edit)
    }
  }

  /// Sends a request over the present connection.
  ///
  /// - Parameters:
  ///   - completion: told the answer while that connection is still the present one.
  ///   - always: told the answer even when another connection has taken its place.
  func send(
    _ request: ClientRequest, passing files: [SourceFile] = [],
    _ completion: @escaping @Sendable (BackgroundEngine, Result<ServiceReply, any Error>) -> Void,
    always: @escaping @Sendable (BackgroundEngine, Result<ServiceReply, any Error>) -> Void = { _, _ in }
  ) {
    assertConfined()
    guard let connection else {
      return always(self, .failure(ServiceUnavailable(reason: "there is no connection at the moment")))
    }
    Task(executorPreference: executor) {
      let result: Result<ServiceReply, any Error>
      do { result = .success(try await connection.request(request, passing: files)) } catch { result = .failure(error) }
      always(self, result)
      guard connection === self.connection else { return }
      if case .success = result { self.decide(.wasUseful(connection: self.link.connection)) }
      completion(self, result)
    }
  }

  func outcome(_ result: Result<ServiceReply, any Error>) -> Outbox.Outcome {
    switch result {
    case .success: .accepted
    case .failure(is ServiceUnavailable): .unanswered
    case .failure(let refusal as Refusal) where refusal.isTemporary: .refusedForNow
    case .failure(let refusal as Refusal): .refused(refusal.message)
    case .failure(let error): .refused("The task can't be handed over to the transfer service: \(error).")
    }
  }

  // MARK: Resume data

  private func resumePointArrived(_ result: Result<ServiceReply, any Error>, for work: BackgroundWork) {
    let task = work.task
    if case .success(.cancelled(let answer)) = result, let point = answer.uploadPoint {
      return resumePointSettled(UploadResumeData(point, of: task)?.encoded(), for: work)
    }
    guard case .success(.cancelled(let answer)) = result, let point = answer.resumePoint else {
      return resumePointSettled(nil, for: work)
    }
    NIOThreadPool.singleton.runIfActive(eventLoop: executor.loop) { DownloadResumeData(point, of: task)?.encoded() }
      .whenComplete { data in self.onLoop { $0.resumePointSettled(try? data.get(), for: work) } }
  }

  private func resumePointSettled(_ data: Data?, for work: BackgroundWork) {
    if let end = work.settleResumePoint(data) { finish(work, end) }
  }
}

extension Refusal {
  /// Whether the service may take the same thing later: its disk is full, or it is about to be replaced.
  var isTemporary: Bool { [.storage, .shuttingDown].contains(reason) }
}
