import Foundation
import Synchronization
import Testing

@testable import SystemServices

@Suite struct BlockingCallsTests {
  private let patience: Duration = .seconds(90)

  @Test func aCallThatHangsHoldsNoOtherUp() async throws {
    let calls = BlockingCalls(name: "test-start", width: 2)
    let end = DispatchSemaphore(value: 0)
    defer { end.signal() }
    calls.start { end.wait() }
    for _ in 0..<3 { await withCheckedContinuation { done in calls.start { done.resume() } } }
  }

  /// More calls than Swift's tasks have threads block, and a task ends them.
  @Test func callsDoNotKeepTheThreadsOfTasks() async throws {
    let count = ProcessInfo.processInfo.activeProcessorCount * 2
    let calls = BlockingCalls(name: "test-calls", width: count)
    let end = DispatchSemaphore(value: 0)
    let (begun, beginning) = AsyncStream<Void>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<count {
        group.addTask {
          try await calls.run(within: .seconds(90)) {
            beginning.yield()
            end.wait()
          }
        }
      }
      var missing = count
      for await _ in begun {
        missing -= 1
        if missing == 0 { break }
      }
      for _ in 0..<count { end.signal() }
      try await group.waitForAll()
    }
  }

  @Test func errorOfACallIsThrown() async {
    let calls = BlockingCalls(name: "test-calls")
    await #expect(throws: SystemError(EIO, "test")) {
      try await calls.run(within: patience) { throw SystemError(EIO, "test") }
    }
  }

  @Test func callPastItsLimitIsAskedToEndAndNotWaitedFor() async {
    let calls = BlockingCalls(name: "test-calls", width: 1)
    let end = DispatchSemaphore(value: 0)
    let limit = Duration.milliseconds(50)
    await #expect(throws: BlockingCalls.Expired(limit: limit)) {
      try await calls.run(within: limit, cancel: { end.signal() }) { end.wait() }
    }
    // The only thread is free again.
    await #expect(throws: Never.self) { try await calls.run(within: patience) {} }
  }

  @Test func callThatNeverReturnsLeavesNoThreadToOthers() async {
    let calls = BlockingCalls(name: "test-calls", width: 1)
    let end = DispatchSemaphore(value: 0)
    let wasRun = Atomic(false)
    let limit = Duration.milliseconds(50)
    await #expect(throws: BlockingCalls.Expired.self) { try await calls.run(within: limit) { end.wait() } }
    await #expect(throws: BlockingCalls.Expired.self) {
      try await calls.run(within: limit) { wasRun.store(true, ordering: .relaxed) }
    }
    end.signal()
    await #expect(throws: Never.self) { try await calls.run(within: patience) {} }
    // The caller had given up before its call began.
    let ran = wasRun.load(ordering: .relaxed)
    #expect(!ran)
  }

  private final class Held: Sendable {}

  /// A call that waits holds what it is to work on.
  @Test(arguments: [false, true]) func callThatIsGivenUpIsNotKept(isCancelled: Bool) async throws {
    let calls = BlockingCalls(name: "test-calls", width: 1)
    let end = DispatchSemaphore(value: 0)
    await #expect(throws: BlockingCalls.Expired.self) {
      try await calls.run(within: .milliseconds(20)) { end.wait() }
    }
    weak var released: Held?
    do {
      let held = Held()
      released = held
      let task = Task { [held] in
        try await calls.run(within: isCancelled ? .seconds(90) : .milliseconds(20)) { withExtendedLifetime(held) {} }
      }
      if isCancelled { task.cancel() }
      await #expect(throws: (any Error).self) { try await task.value }
    }
    // The task may let go of it a moment after it has ended.
    let limit = ContinuousClock.now + patience
    while released != nil, ContinuousClock.now < limit { await Task.yield() }
    #expect(released == nil, "the thread is still busy with the call before")
    end.signal()
  }

  @Test func cancelledTaskDoesNotWait() async throws {
    let calls = BlockingCalls(name: "test-calls")
    let end = DispatchSemaphore(value: 0)
    let (begun, beginning) = AsyncStream<Void>.makeStream()
    let task = Task {
      try await calls.run(within: .seconds(90), cancel: { end.signal() }) {
        beginning.yield()
        end.wait()
      }
    }
    for await _ in begun { break }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func manyCallsAllReturn() async throws {
    let calls = BlockingCalls(name: "test-calls", width: 3)
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 1...200 { group.addTask { try await calls.run(within: .seconds(90)) { number } } }
      return try await group.reduce(0, +)
    }
    #expect(sum == 20100)
  }
}
