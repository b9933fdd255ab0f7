import Synchronization
import TransferProtocol

/// A question that a load waits for, on its way to the app. It is answered once: one that is dropped without an answer
/// says that no app could be asked. May be used from any thread.
package final class PendingChallenge: Sendable {
  package enum Answer: Sendable {
    case given(ChallengeAnswered.Disposition)
    /// The app does not understand questions, or asks for none: the rules for loads without a delegate count.
    case byRules
    /// No app can be asked now. The credential that is at hand counts; without one the transfer waits for the app.
    case noApp
  }

  /// Its session and its number are the engine's business.
  package let question: ChallengeQuestion
  private let receiver: Mutex<(@Sendable (Answer) -> Void)?>

  package init(_ question: ChallengeQuestion, _ receiver: @escaping @Sendable (Answer) -> Void) {
    self.question = question
    self.receiver = Mutex(receiver)
  }

  deinit { answer(.noApp) }

  /// The first answer counts.
  package func answer(_ answer: Answer) {
    let receiver = receiver.withLock { stored in
      defer { stored = nil }
      return stored
    }
    receiver?(answer)
  }
}
