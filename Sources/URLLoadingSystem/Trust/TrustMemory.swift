import Foundation
import Synchronization

/// The chains that certificates were found to have to trusted ones: a server shows the same certificates with each
/// connection, and what was found of them is true as long as they are valid. From any thread.
final class TrustMemory: Sendable {
  private struct Question: Hashable {
    let certificates: [SecCertificate]
    let policies: [SecPolicy]
  }

  private struct Answer {
    let chain: [SecCertificate]
    let validity: ClosedRange<Date>
  }

  private let answers = Mutex<[Question: Answer]>([:])
  private static let mostAnswers = 64

  func evaluation(of certificates: [SecCertificate], under policies: [SecPolicy], at date: Date) -> TrustEvaluation? {
    let question = Question(certificates: certificates, policies: policies)
    guard let answer = answers.withLock({ $0[question] }), answer.validity.contains(date) else { return nil }
    return TrustEvaluation(failure: nil, chain: answer.chain)
  }

  /// Keeps what was found, where it is trust.
  func keep(_ evaluation: TrustEvaluation, of certificates: [SecCertificate], under policies: [SecPolicy]) {
    let chain = evaluation.chain.compactMap(\.parsed)
    guard evaluation.failure == nil, !evaluation.isByException, chain.count == evaluation.chain.count,
      let start = chain.map(\.notValidBefore).max(), let end = chain.map(\.notValidAfter).min(), start <= end
    else { return }
    answers.withLock { answers in
      if answers.count >= TrustMemory.mostAnswers { answers.removeAll() }
      answers[Question(certificates: certificates, policies: policies)] = Answer(
        chain: evaluation.chain, validity: start...end)
    }
  }
}
