import Foundation
import HTTPTransport
import TransferProtocol

/// Puts the questions of servers, which the transfer service passes on, to the delegate.
extension BackgroundEngine {
  func received(_ question: ChallengeQuestion) {
    assertConfined()
    guard let work = works[question.taskIdentifier], let delivery = work.delivery else {
      // The delegate of other tasks may have the method.
      return answer(question, .performDefaultHandling)
    }
    let control = LoadControl(loop: executor.loop, sweeper: executor.sweeper)
    work.state.questions[question.number] = control
    Task(executorPreference: executor) {
      defer { work.state.questions[question.number] = nil }
      // A question that was withdrawn is not answered.
      guard let answer = try? await self.answer(to: question, of: work, delivery, control) else { return }
      self.answer(question, answer)
    }
  }

  private func answer(
    to question: ChallengeQuestion, of work: BackgroundWork, _ delivery: TaskDelivery, _ control: LoadControl
  ) async throws -> ChallengeAnswered.Disposition {
    let roots = work.task.lockedState.withLock { $0.session }?.configuration.trustRoots ?? .system
    let challenge = question.challenge(proposing: nil, roots: roots)
    let method = challenge.protectionSpace.authenticationMethod
    let proposal = await proposal(for: question, challenge.protectionSpace, work)
    let stored = proposal?.hasPassword == true ? proposal : nil
    let answer = try await delivery.answer(
      to: question.challenge(proposing: proposal, roots: roots), of: work.task,
      control: control)
    if answer.disposition == .performDefaultHandling, let stored {
      return ChallengeAnswered.Disposition(ChallengeAnswer(.useCredential, stored))
    }
    if ChallengeQuestion.isAboutConnection(method), !delivery.mayAnswerChallenges(of: method) { return .isLeftOut }
    return ChallengeAnswered.Disposition(answer)
  }

  /// The user that the service would name, else the default credential of the app's storage. A password of the task's URL
  /// that the service has lost, as it does without a keychain when it ends, is here as long as this process is.
  private func proposal(
    for question: ChallengeQuestion, _ space: URLProtectionSpace, _ work: BackgroundWork
  ) async -> URLCredential? {
    guard question.previousFailureCount == 0 else { return nil }
    if question.hasProposedPassword == false, let user = question.proposedUser,
      let own = work.task.originalRequest?.url?.password(of: user, for: space)
    {
      return URLCredential(user: user, password: own, persistence: .none)
    }
    let storage = work.task.lockedState.withLock { $0.session }?.credentialStorage
    let stored = await storage?.defaultCredential(for: space, task: work.task)
    guard let user = question.proposedUser, user != stored?.user else { return stored }
    return URLCredential(user: user, password: nil, persistence: .none)
  }

  private func answer(_ question: ChallengeQuestion, _ disposition: ChallengeAnswered.Disposition) {
    assertConfined()
    // An answer that is lost with its connection is asked for again over the next one.
    send(
      .answerChallenge(
        ChallengeAnswered(session: identifier, number: question.number, disposition: disposition))
    ) { _, _ in }
  }

  /// The connection has ended, and its questions with it.
  func withdrawQuestions() {
    assertConfined()
    for work in works.values { work.withdrawQuestions() }
  }
}

extension BackgroundWork {
  func withdrawQuestions() {
    for control in state.questions.values { control.abort(ErrorMapping.cancelled) }
  }
}

extension URL {
  /// The password that stands here for a user of this space; nil where another user does, or the space is of another
  /// server.
  fileprivate func password(of user: String, for space: URLProtectionSpace) -> String? {
    guard !space.isProxy(), let target = try? HTTPTarget(self), space.host == target.key.host,
      space.port == target.key.port, (space.protocol == NSURLProtectionSpaceHTTPS) == (target.key.scheme == .https),
      let credential = URLCredential(in: self), credential.user == user
    else { return nil }
    return credential.password
  }
}
