import Foundation

/// The sender of a session's challenge: gives the answers that the completion handler of the delegate's method takes. The
/// first answer counts, whichever way it comes.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender {
  private let answer: @Sendable (ChallengeAnswer) -> Void

  init(_ answer: @escaping @Sendable (ChallengeAnswer) -> Void) { self.answer = answer }

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
