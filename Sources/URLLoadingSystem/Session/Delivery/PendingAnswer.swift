import Foundation
import Synchronization

/// A question to the app on its way: the first answer ends the wait; later ones are ignored.
///
/// The completion handler handed to a delegate holds this object. When the delegate drops the handler without calling
/// it, the object goes away and gives the fallback, so that no load waits for an answer that can't come any more.
final class PendingAnswer<Answer: Sendable>: Sendable {
  private let waiter: Mutex<UnsafeContinuation<Answer, Never>?>
  private let fallback: Answer

  init(_ waiter: UnsafeContinuation<Answer, Never>, fallback: Answer) {
    self.waiter = Mutex(waiter)
    self.fallback = fallback
  }

  /// Waits for the answer to the question that `ask` puts.
  static func wait(fallback: Answer, _ ask: (PendingAnswer) -> Void) async -> Answer {
    await withUnsafeContinuation { ask(PendingAnswer($0, fallback: fallback)) }
  }

  func give(_ answer: Answer) {
    let waiter = waiter.withLock { waiter in
      defer { waiter = nil }
      return waiter
    }
    waiter?.resume(returning: answer)
  }

  /// The answer no longer matters: the load was ended.
  func abandon() { give(fallback) }

  deinit { abandon() }
}

/// Lets a load give up a question without keeping the question alive. Used on the load's event loop.
final class PendingAnswerReference<Answer: Sendable> {
  weak var answer: PendingAnswer<Answer>?
}
