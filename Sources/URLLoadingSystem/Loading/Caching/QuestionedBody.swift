import HTTPTransport
import NIOCore

/// A body whose end waits for something: the app's word about what is stored. Confined to the load's event loop.
final class QuestionedBody: BodySource, @unchecked Sendable {
  private enum Phase { case reading, asking, over }

  private let body: LoadBody
  private let executor: LoopExecutor
  private let question: () async -> Void
  private var phase = Phase.reading
  private var action: (() -> Void)?

  /// - Parameter question: Runs once, behind the last byte.
  init(_ body: LoadBody, on executor: LoopExecutor, _ question: @escaping () async -> Void) {
    self.body = body
    self.executor = executor
    self.question = question
  }

  func take() throws -> BodyPart {
    executor.loop.assertInEventLoop()
    switch phase {
    case .over: return .end
    case .asking: return .pending
    case .reading:
      let part = try body.takePart()
      guard case .end = part else { return part }
      phase = .asking
      Task(executorPreference: executor) {
        await self.question()
        self.goOn()
      }
      return .pending
    }
  }

  private func goOn() {
    executor.loop.assertInEventLoop()
    phase = .over
    if let action { executor.schedule(action) }
    action = nil
  }

  func whenReadable(_ action: @escaping () -> Void) {
    executor.loop.assertInEventLoop()
    switch phase {
    case .reading: body.whenReadable(action)
    case .asking: self.action = action
    case .over: executor.schedule(action)
    }
  }

  func discard() { body.discard() }

  func abort(_ error: any Error) {
    executor.loop.assertInEventLoop()
    // The question ends by itself: it is a wait of the load too.
    if phase == .reading { body.abort(error) }
  }

  func takeOver() async throws -> any DuplexStream { try await body.takeOver() }
}
