import Foundation
import TransferProtocol

/// Questions to the apps that hold sessions: those of loads (`TransferEngine+Challenges.swift`), and how a transfer begins
/// that a date has delayed (`TransferEngine+DelayedRequests.swift`). A question lives as long as the connection over which it
/// was asked.
extension TransferEngine {
  /// Asks the app, at once or when it takes pushes.
  ///
  /// - Returns: the number that the answer repeats.
  func ask(_ subject: AskedQuestion.Subject, about id: TransferID, session: LiveSession, over connection: UInt64)
    -> UInt64
  {
    dispatchPrecondition(condition: .onQueue(queue))
    let number = nextQuestionNumber()
    questions.add(AskedQuestion(subject: subject, transfer: id, session: session.id), number)
    if session.machine.receiver != nil { put(number, over: connection) }
    return number
  }

  private func put(_ number: UInt64, over connection: UInt64) {
    guard let asked = questions[number], let session = sessions[asked.session], let holder = clients[connection],
      let transfer = transfers[asked.transfer]
    else { return }
    questions.setConnection(connection, of: number)
    switch asked.subject {
    case .challenge(let challenge):
      var question = challenge.question
      question.session = session.identifier
      question.taskIdentifier = transfer.taskIdentifier
      question.number = number
      holder.client.send(.push(.challenge(question)))
    case .delayedRequest:
      let question = DelayedRequestQuestion(
        session: session.identifier, taskIdentifier: transfer.taskIdentifier, number: number,
        request: requestToAskAbout(asked.transfer))
      holder.client.send(.push(.delayedRequest(question)))
    }
  }

  /// The app takes pushes from now on: what waits for it goes on.
  func appIsReady(_ id: SessionID, over connection: UInt64) {
    dispatchPrecondition(condition: .onQueue(queue))
    for number in questions.of(session: id).sorted() where questions[number]?.connection == nil {
      put(number, over: connection)
    }
    for transfer in sessions[id]?.unfinished.values.sorted() ?? [] where transfers[transfer]?.machine.needsApp == true {
      post(.appIsReady, to: transfer)
    }
  }

  /// It is answered, or withdrawn.
  func forget(_ number: UInt64) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let asked = questions.remove(number) else { return }
    timers.cancel(.question(number))
    if case .delayedRequest = asked.subject { askAboutWaiting(of: asked.session, questions.room(of: asked.session)) }
    guard questions.of(transfer: asked.transfer).isEmpty else { return }
    scheduler.setParked(false, asked.transfer, at: clock.now)
  }

  /// The connection is gone, or another one has taken its place: the questions of loads are asked again over the next one.
  func withdrawQuestions(of id: SessionID) {
    askAboutWaiting(of: id, .max)
    withdraw(questions.of(session: id))
  }

  func withdrawQuestions(by id: TransferID) { withdraw(questions.of(transfer: id)) }

  private func withdraw(_ numbers: Set<UInt64>) {
    for number in numbers {
      guard let asked = questions[number] else { continue }
      forget(number)
      switch asked.subject {
      case .challenge(let challenge): challenge.answer(.noApp)
      case .delayedRequest: beginAsItIs(asked.transfer)
      }
    }
  }
}
