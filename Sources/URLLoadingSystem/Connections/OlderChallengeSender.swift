import Foundation
import Synchronization

/// Takes the answer of an app that answers challenges through their sender. The first answer counts. A challenge that is
/// released without an answer is cancelled.
final class OlderChallengeSender: NSObject, URLAuthenticationChallengeSender {
  typealias Answer = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

  private let answer: Mutex<Answer?>
  private let willCancel: @Sendable (URLAuthenticationChallenge) -> Void

  /// - Parameter willCancel: Called before a cancellation is passed on.
  init(_ answer: @escaping Answer, willCancel: @escaping @Sendable (URLAuthenticationChallenge) -> Void) {
    self.answer = Mutex(answer)
    self.willCancel = willCancel
  }

  private func take() -> Answer? {
    answer.withLock { answer in
      defer { answer = nil }
      return answer
    }
  }

  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
    take()?(.useCredential, credential)
  }

  func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { take()?(.useCredential, nil) }

  func cancel(_ challenge: URLAuthenticationChallenge) {
    guard let answer = take() else { return }
    willCancel(challenge)
    answer(.cancelAuthenticationChallenge, nil)
  }

  func performDefaultHandling(for challenge: URLAuthenticationChallenge) { take()?(.performDefaultHandling, nil) }

  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
    take()?(.rejectProtectionSpace, nil)
  }
}
