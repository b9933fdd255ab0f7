import Foundation
import TransferProtocol
import URLLoadingSystem

/// Passes the questions of loads on to the app that holds the session, and its answers back. A question lives as long as
/// the connection over which it was asked. Passwords are in the answers alone, and go from here to the load.
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
    let number = nextChallengeNumber()
    challenges[number] = AskedChallenge(challenge: challenge, transfer: id, session: transfer.session)
    setTimer(.question(number), in: settings.questionPatience) { $0.scheduler.setParked(true, id, at: $0.clock.now) }
    if session.machine.receiver != nil { put(number, over: connection) }
  }

  private func forget(_ number: UInt64) {
    guard let asked = challenges.removeValue(forKey: number) else { return }
    timers.cancel(.question(number))
    guard !challenges.values.contains(where: { $0.transfer == asked.transfer }) else { return }
    scheduler.setParked(false, asked.transfer, at: clock.now)
  }

  private func put(_ number: UInt64, over connection: UInt64) {
    guard let asked = challenges[number], let session = sessions[asked.session], let holder = clients[connection],
      let transfer = transfers[asked.transfer]
    else { return }
    challenges[number]?.connection = connection
    var question = asked.challenge.question
    question.session = session.identifier
    question.taskIdentifier = transfer.taskIdentifier
    question.number = number
    holder.client.send(.push(.challenge(question)))
  }

  /// The app takes pushes from now on: what waits for it goes on.
  func appIsReady(_ id: SessionID, over connection: UInt64) {
    dispatchPrecondition(condition: .onQueue(queue))
    for (number, asked) in challenges.sorted(by: { $0.key < $1.key })
    where asked.session == id && asked.connection == nil {
      put(number, over: connection)
    }
    for transfer in sessions[id]?.unfinished.values.sorted() ?? [] where transfers[transfer]?.machine.needsApp == true {
      post(.appIsReady, to: transfer)
    }
  }

  /// - Returns: nil when the answer comes later.
  func answer(
    _ answer: ChallengeAnswered, session id: SessionID, _ message: ClientMessage, from client: any ServiceClient
  ) -> ServiceReply? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let asked = challenges[answer.number], asked.session == id else { return .done }
    forget(answer.number)
    let method = asked.challenge.question.space.authenticationMethod
    // An app that leaves one server to the rules, or has no certificate for it, may judge the next one itself. Only
    // delegates without the method can't, and they are those of this transfer.
    if ChallengeQuestion.isAboutConnection(method) {
      if answer.disposition.isOfApp(method), sessions[id]?.judgement != .ofApp {
        noteJudgement(of: id, message, from: client) { asked.challenge.answer(.given(answer.disposition)) }
        return nil
      } else if answer.disposition == .isLeftOut {
        sessions.update(id) { $0.leavesToRules(asked.transfer) }
      }
    }
    asked.challenge.answer(.given(answer.disposition))
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

  /// The connection is gone, or another one has taken its place: its questions are asked again over the next one.
  func withdrawChallenges(of id: SessionID) { withdraw { $0.session == id } }

  func withdrawChallenges(by id: TransferID) { withdraw { $0.transfer == id } }

  private func withdraw(_ isConcerned: (AskedChallenge) -> Bool) {
    for (number, asked) in challenges where isConcerned(asked) {
      forget(number)
      asked.challenge.answer(.noApp)
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
