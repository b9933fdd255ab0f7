import Testing
import TransferProtocol

@testable import TransferService

/// The open questions by transfer and session, and the line of transfers that wait to be asked about.
@Suite struct AskedQuestionsTests {
  @Test func questionsAreCountedBySession() {
    var questions = AskedQuestions()
    for number in 1...UInt64(AskedQuestions.openLimit) {
      questions.add(AskedQuestion(subject: .delayedRequest, transfer: TransferID(number), session: 1), number)
    }
    #expect(questions.room(of: 1) == 0 && questions.room(of: 2) == AskedQuestions.openLimit)
    #expect(questions.of(transfer: 3) == [3] && questions.of(session: 1).count == AskedQuestions.openLimit)
    #expect(questions.remove(3)?.transfer == 3 && questions.remove(3) == nil)
    #expect(questions.room(of: 1) == 1 && questions.of(transfer: 3).isEmpty && questions[3] == nil)
  }

  @Test func thoseThatHaveWaitedLongestAreTakenFirst() {
    var questions = AskedQuestions()
    for transfer: TransferID in [5, 4, 3, 5, 2] { questions.wait(transfer, 1) }
    questions.wait(9, 2)
    questions.forgetWaiting(4, 1)
    #expect(questions.takeWaiting(1, 2) == [5, 3])
    #expect(questions.takeWaiting(1, .max) == [2])
    #expect(questions.takeWaiting(1, .max).isEmpty && questions.takeWaiting(2, .max) == [9])
  }
}
