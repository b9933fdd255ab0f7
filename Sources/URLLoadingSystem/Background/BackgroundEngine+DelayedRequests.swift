import Foundation
import HTTPTransport
import TransferProtocol

/// Asks the delegate how a task begins whose earliest date has come, for the transfer service.
extension BackgroundEngine {
  func received(_ question: DelayedRequestQuestion) {
    assertConfined()
    guard let work = works[question.taskIdentifier], let delivery = work.delivery else {
      return answer(question, .continueLoading, of: nil)
    }
    let control = LoadControl(loop: executor.loop, sweeper: executor.sweeper)
    work.state.questions[question.number] = control
    Task(executorPreference: executor) {
      defer { work.state.questions[question.number] = nil }
      // A question that was withdrawn is not answered.
      guard let disposition = try? await self.disposition(of: work, delivery, control) else { return }
      self.answer(question, disposition, of: work)
    }
  }

  private func disposition(
    of work: BackgroundWork, _ delivery: TaskDelivery, _ control: LoadControl
  ) async throws -> DelayedRequestAnswered.Disposition {
    let task = work.task
    guard let session = task.lockedState.withLock({ $0.session }), let request = task.presentRequest else {
      return .continueLoading
    }
    let answer = try await delivery.askAboutDelayedRequest(request, of: task, in: session, control: control)
    guard answer.disposition == .useNewRequest else {
      return answer.disposition == .cancel ? .cancel : .continueLoading
    }
    guard var new = answer.request else { return .cancel }
    new.takeNetworks(of: request)
    // The body of an upload is its file.
    if task is URLSessionUploadTask { (new.httpBody, new.httpBodyStream) = (nil, nil) }
    if let problem = new.uncarriedProperty() {
      return .fail(
        TransferFailure(
          domain: NSURLErrorDomain, code: problem.code.rawValue, message: problem.localizedDescription,
          url: new.url?.absoluteString))
    }
    task.noteRequest(new)
    return .useNewRequest(work.description(of: new))
  }

  /// - Parameter work: nil where the task is not known here.
  private func answer(
    _ question: DelayedRequestQuestion, _ disposition: DelayedRequestAnswered.Disposition, of work: BackgroundWork?
  ) {
    assertConfined()
    let answer = DelayedRequestAnswered(session: identifier, number: question.number, disposition: disposition)
    // One that is lost with its connection is not asked for again: the task has begun as it was.
    send(.answerDelayedRequest(answer)) { engine, result in
      guard case .refusedForNow = engine.outcome(result), let work else { return }
      // The service can't write its queue, and waits for the answer for a while.
      engine.after(BackgroundEngine.pauseAfterRefusal) { engine in
        guard engine.works[question.taskIdentifier] === work else { return }
        engine.answer(question, disposition, of: work)
      }
    }
  }
}
