import Foundation
import HTTPTransport
import TransferProtocol

/// Asks the delegate how a task begins whose earliest date has come, for the transfer service.
extension BackgroundEngine {
  func received(_ question: DelayedRequestQuestion) {
    assertConfined()
    guard let work = works[question.taskIdentifier], let delivery = work.delivery else {
      return answer(question, .continueLoading, nil, of: nil)
    }
    if let request = question.request { work.take(request) }
    let control = LoadControl(loop: executor.loop, sweeper: executor.sweeper)
    work.state.questions[question.number] = control
    Task(executorPreference: executor) {
      defer { work.state.questions[question.number] = nil }
      // A question that was withdrawn is not answered.
      guard let (disposition, request) = try? await self.disposition(of: work, delivery, control) else { return }
      self.answer(question, disposition, request, of: work)
    }
  }

  /// - Returns: with the request that the task has once the service has accepted it, where it is a new one.
  private func disposition(
    of work: BackgroundWork, _ delivery: TaskDelivery, _ control: LoadControl
  ) async throws -> (DelayedRequestAnswered.Disposition, URLRequest?) {
    let task = work.task
    guard let session = task.lockedState.withLock({ $0.session }), let request = task.presentRequest else {
      return (.continueLoading, nil)
    }
    let answer = try await delivery.askAboutDelayedRequest(request, of: task, in: session, control: control)
    guard answer.disposition == .useNewRequest else {
      return (answer.disposition == .cancel ? .cancel : .continueLoading, nil)
    }
    guard var new = answer.request else { return (.cancel, nil) }
    new.takeNetworks(of: request)
    // The body of an upload is its file.
    if task is URLSessionUploadTask { (new.httpBody, new.httpBodyStream) = (nil, nil) }
    if let problem = new.uncarriedProperty() {
      let failure = TransferFailure(
        domain: NSURLErrorDomain, code: problem.code.rawValue, message: problem.localizedDescription,
        url: new.url?.absoluteString)
      return (.fail(failure), nil)
    }
    return (.useNewRequest(work.description(of: new)), new)
  }

  /// - Parameters:
  ///   - request: which the task has from then on, where the service accepts it.
  ///   - work: nil where the task is not known here.
  private func answer(
    _ question: DelayedRequestQuestion, _ disposition: DelayedRequestAnswered.Disposition, _ request: URLRequest?,
    of work: BackgroundWork?
  ) {
    assertConfined()
    let answer = DelayedRequestAnswered(session: identifier, number: question.number, disposition: disposition)
    // One that is lost with its connection is not asked for again: the task has begun as it was.
    send(.answerDelayedRequest(answer)) { engine, result in
      guard let work, engine.works[question.taskIdentifier] === work else { return }
      switch engine.outcome(result) {
      case .accepted: if let request { work.task.noteRequest(request) }
      case .refusedForNow:
        // The service can't write its queue, and waits for the answer for a while.
        engine.after(BackgroundEngine.pauseAfterRefusal) { engine in
          guard engine.works[question.taskIdentifier] === work else { return }
          engine.answer(question, disposition, request, of: work)
        }
      // The task has begun as it was, has another request by now, or ends.
      case .refused, .unanswered: break
      }
    }
  }
}

extension BackgroundWork {
  /// The task's request is the one that the service has: the user may have changed its URL, its header fields and the networks
  /// that it may use. Cookies that this library found are no part of it for the app.
  func take(_ told: RequestDescription) {
    guard let own = task.presentRequest else { return }
    let former = description(of: own)
    var request = RequestDescription(own)
    // The service tells no password.
    if PasswordURL(former.url).url != told.url { request.url = told.url }
    if EditTransfer.values(former.headers) != EditTransfer.values(told.headers) {
      request.headers = told.headers
      let cookies = told.headers.filter { $0.name.lowercased() == "cookie" }.map(\.value)
      if let field = state.cookieField, cookies == [field] {
        request.headers.removeAll { $0.name.lowercased() == "cookie" }
      } else {
        state.cookieField = nil
      }
    }
    if let allows = told.allowsCellularAccess { request.allowsCellularAccess = allows }
    if let allows = told.allowsExpensiveNetworkAccess { request.allowsExpensiveNetworkAccess = allows }
    if let allows = told.allowsConstrainedNetworkAccess { request.allowsConstrainedNetworkAccess = allows }
    guard request != RequestDescription(own), let changed = request.urlRequest else { return }
    task.noteRequest(changed)
  }
}
