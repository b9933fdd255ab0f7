import Foundation
import HTTPTransport

/// A question to a store of the app's, whose answer may take long: the wait ends with the load, and does not count as idle
/// time.
enum StoreQuestion {
  /// Calls a method of a subclass on a thread where it may block.
  static func run(_ call: @escaping @Sendable () -> Void) {
    // Dropping a question gives the fallback.
    BlockingWork.stores.submit { state in if case .active = state { call() } }
  }

  /// Returns when the question is answered or dropped; throws when the load is aborted.
  ///
  /// - Parameters:
  ///   - fallback: The answer where the store gives none.
  ///   - begin: Asks, without blocking: see `run`.
  static func ask<Answer: Sendable>(
    _ fallback: Answer, in context: LoadContext, _ begin: (@escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer {
    context.loop.assertInEventLoop()
    let reference = PendingAnswerReference<Answer>()
    return try await context.control.whileClientHoldsLoad {
      try await context.control.abortable(onAbort: { _ in reference.answer?.abandon() }) {
        await PendingAnswer.wait(fallback: fallback) { pending in
          reference.answer = pending
          begin { pending.give($0) }
        }
      }
    }
  }
}
