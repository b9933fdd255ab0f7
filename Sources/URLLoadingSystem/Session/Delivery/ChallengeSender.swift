import Foundation
import Synchronization

/// The sender of a session's challenge: gives the answers that the completion handler of the delegate's method takes. The
/// first answer counts, whichever way it comes.
///
/// It does not keep the question open: a delegate that lets go of the completion handler without an answer has cancelled.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender {
  /// The receiver of the answer, which the completion handler keeps alive.
  final class Receiver: Sendable {
    let answer: @Sendable (ChallengeAnswer) -> Void

    init(_ answer: @escaping @Sendable (ChallengeAnswer) -> Void) { self.answer = answer }
  }

  private struct Reference {
    weak var receiver: Receiver?
  }

  private let reference: Mutex<Reference>

  init(_ receiver: Receiver) { reference = Mutex(Reference(receiver: receiver)) }

  private func answer(_ answer: ChallengeAnswer) {
    let receiver = reference.withLock { $0.receiver }
    receiver?.answer(answer)
  }

  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
    answer(ChallengeAnswer(.useCredential, credential))
  }

  func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { answer(ChallengeAnswer(.useCredential)) }

  func cancel(_ challenge: URLAuthenticationChallenge) { answer(ChallengeAnswer(.cancelAuthenticationChallenge)) }

  func performDefaultHandling(for challenge: URLAuthenticationChallenge) { answer(ChallengeAnswer()) }

  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
    answer(ChallengeAnswer(.rejectProtectionSpace))
  }
}
