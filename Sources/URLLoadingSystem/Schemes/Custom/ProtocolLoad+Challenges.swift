import Foundation

/// Challenges of a protocol: the app is asked, and the answer goes to the challenge's sender.
extension ProtocolLoad {
  func ask(_ challenge: URLAuthenticationChallenge) {
    executor.loop.assertInEventLoop()
    guard let run, !isOver else { return }
    let question = ProtocolQuestion(about: challenge, in: run.context)
    questions.append(question)
    run.context.start { _ in
      let answer = await question.answer()
      self.settle(question, answer)
    }
  }

  func giveUpQuestion(about challenge: URLAuthenticationChallenge) {
    executor.loop.assertInEventLoop()
    guard let index = questions.firstIndex(where: { $0.challenge === challenge }) else { return }
    questions.remove(at: index).giveUp()
  }

  private func settle(_ question: ProtocolQuestion, _ answer: ChallengeAnswer?) {
    executor.loop.assertInEventLoop()
    // Otherwise it was given up.
    guard let index = questions.firstIndex(where: { $0 === question }) else { return }
    questions.remove(at: index)
    guard let answer else { return }
    let challenge = question.challenge
    onProtocolThread {
      ProtocolLoad.tell(answer, to: challenge)
      guard answer.disposition == .cancelAuthenticationChallenge else { return }
      self.receive {
        $0.fail(ErrorMapping.make(.cancelled, because: "The question for a credential was cancelled."))
      }
    }
  }

  private static func tell(_ answer: ChallengeAnswer, to challenge: URLAuthenticationChallenge) {
    guard let sender = challenge.sender else { return }
    switch answer.disposition {
    case .useCredential:
      if let credential = answer.credential {
        sender.use(credential, for: challenge)
      } else {
        sender.continueWithoutCredential(for: challenge)
      }
    case .performDefaultHandling: sender.performDefaultHandling(for: challenge)
    case .cancelAuthenticationChallenge: sender.cancel(challenge)
    case .rejectProtectionSpace: sender.rejectProtectionSpaceAndContinue(with: challenge)
    }
  }
}
