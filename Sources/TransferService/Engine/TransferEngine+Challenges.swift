import Foundation
import TransferProtocol
import URLLoadingSystem

/// Passes the questions of loads on to the app that holds the session, and its answers back. Passwords are in the answers alone, and go from here to the load.
extension TransferEngine {
  func asked(_ challenge: PendingChallenge, by id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], let session = sessions[transfer.session], isServing else {
      return challenge.answer(.noApp)
    }
    guard let connection = session.machine.attachment?.connection, let holder = clients[connection] else {
      return challenge.answer(.noApp)
    }
    guard let version = holder.version, version >= ProtocolVersions.ofChallenges else {
      return challenge.answer(.byRules)
    }
    let number = ask(.challenge(challenge), about: id, session: session, over: connection)
    setTimer(.question(number), in: settings.questionPatience) { $0.scheduler.setParked(true, id, at: $0.clock.now) }
  }

  /// - Returns: nil when the answer comes later.
  func answer(
    _ answer: ChallengeAnswered, session id: SessionID, _ message: ClientMessage, from client: any ServiceClient
  ) -> ServiceReply? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let asked = questions[answer.number], asked.session == id, case .challenge(let challenge) = asked.subject
    else { return .done }
    forget(answer.number)
    let method = challenge.question.space.authenticationMethod
    // An app that leaves one server to the rules, or has no certificate for it, may judge the next one itself. Only
    // delegates without the method can't, and they are those of this transfer.
    if ChallengeQuestion.isAboutConnection(method) {
      if answer.disposition.isOfApp(method), sessions[id]?.judgement != .ofApp {
        noteJudgement(of: id, message, from: client) { challenge.answer(.given(answer.disposition)) }
        return nil
      } else if answer.disposition == .isLeftOut {
        sessions.update(id) { $0.leavesToRules(asked.transfer) }
      }
    }
    challenge.answer(.given(answer.disposition))
    return .done
  }

  /// The app's answers about connections count also where it can't be asked: then the transfer waits for it.
  ///
  /// - Parameter then: once that is in the queue, or can't be.
  private func noteJudgement(
    of id: SessionID, _ message: ClientMessage, from client: any ServiceClient, then: @escaping @Sendable () -> Void
  ) {
    sessions.update(id) { $0.judgesConnections() }
    let log = self.log
    answer(message, from: client) { ended in
      store.setJudgesConnections(of: id) { result in
        if case .failure(let error) = result {
          log.error(
            "after a restart of the service, the app of session \(id) may not be asked about a server: \(error)")
        }
        ended(.success(()))
      }
    } _: { _, _ in
      then()
      return .done
    }
  }
}

extension ChallengeAnswered.Disposition {
  /// Whether the app has an opinion of its own about a connection.
  fileprivate func isOfApp(_ method: String) -> Bool {
    switch self {
    case .isLeftOut, .performDefaultHandling: false
    case .rejectProtectionSpace: method == NSURLAuthenticationMethodServerTrust
    case .useCredential(let credential): credential != nil
    case .cancelAuthenticationChallenge: true
    }
  }
}
