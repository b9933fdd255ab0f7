/// The delegate's decision about a request whose earliest date has come.
struct DelayedRequestAnswer: Sendable {
  let disposition: URLSession.DelayedRequestDisposition
  let request: URLRequest?
}

extension TaskDelivery {
  /// Delegates without the method let the request begin; one that drops its handler cancels the task.
  func askAboutDelayedRequest(
    _ request: URLRequest, of task: URLSessionTask, in session: URLSession, control: LoadControl
  ) async throws -> DelayedRequestAnswer {
    let answer = try await ask(
      .delayedRequest, fallback: DelayedRequestAnswer(disposition: .cancel, request: nil), control: control
    ) { facets, answer in
      facets.task?.urlSession(session, task: task, willBeginDelayedRequest: request) {
        answer(DelayedRequestAnswer(disposition: $0, request: $1))
      }
    }
    return answer ?? DelayedRequestAnswer(disposition: .continueLoading, request: nil)
  }
}

extension URLRequest {
  /// A request in the place of another one uses the networks that the other may use.
  mutating func takeNetworks(of former: URLRequest) {
    allowsCellularAccess = former.allowsCellularAccess
    allowsExpensiveNetworkAccess = former.allowsExpensiveNetworkAccess
    allowsConstrainedNetworkAccess = former.allowsConstrainedNetworkAccess
  }
}
