import HTTPTransport
import NIOCore
import NIOPosix
import Testing

/// What `LoopResult` and `LoopSleep` promise.
@Suite struct LoopResultTests {
  private let executor = LoopExecutor.all[0]

  private struct Failure: Error, Equatable { let number: Int }

  @Test func theFirstResultCounts() async throws {
    let value = try await onLoop { loop in
      let result = LoopResult<Int>(on: loop)
      result.succeed(1)
      result.succeed(2)
      result.fail(Failure(number: 3))
      return try await result.get()
    }
    #expect(value == 1)
  }

  @Test func aWaiterIsResumedByALaterResult() async throws {
    let value = try await onLoop { loop in
      let result = LoopResult<Int>(on: loop)
      loop.execute { result.succeed(7) }
      return try await result.get()
    }
    #expect(value == 7)
  }

  @Test func anEndedSleepThrowsTheErrorItWasEndedWith() async throws {
    await #expect(throws: Failure(number: 1)) {
      try await onLoop { loop in
        let sleep = LoopSleep(for: .hours(1), on: loop)
        loop.execute { sleep.end(Failure(number: 1)) }
        try await sleep.wait()
      }
    }
  }

  @Test func anEndedSleepReturnsBeforeItsTime() async throws {
    try await onLoop { loop in
      let sleep = LoopSleep(for: .hours(1), on: loop)
      sleep.end()
      try await sleep.wait()
    }
  }

  @Test func blockingWorkRunsOffTheLoop() async throws {
    let isOnLoop = try await onLoop { loop in try await loop.blocking { loop.inEventLoop } }
    #expect(!isOnLoop)
  }

  private func onLoop<Value: Sendable>(
    _ body: @escaping @Sendable (any EventLoop) async throws -> Value
  ) async throws -> Value {
    let executor = self.executor
    return try await Task(executorPreference: executor) { try await body(executor.loop) }.value
  }
}
