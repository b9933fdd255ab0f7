import LoopbackServer
import Testing

@Suite struct WaitingTests {
  @Test func aGateLetsEveryoneThroughOnceOpen() async throws {
    let gate = Gate()
    let passed = Recorder<Int>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          try await gate.wait()
          passed.record(number)
        }
      }
      #expect(passed.count == 0)
      #expect(!gate.isOpen)
      gate.open()
      try await group.waitForAll()
    }
    #expect(passed.all.sorted() == Array(0..<20))
    try await gate.wait()
  }

  @Test func waitingEndsWithItsTask() async throws {
    let gate = Gate()
    let task = Task { try await gate.wait() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await #expect(throws: WaitExpired.self) { try await gate.wait(within: .milliseconds(1)) }
  }

  @Test func aRecorderHandsOutEachElementOnce() async throws {
    let recorder = Recorder<Int>()
    async let first = recorder.next()
    async let second = recorder.next()
    recorder.record(1)
    recorder.record(2)
    #expect(try await [first, second].sorted() == [1, 2])
    #expect(recorder.all == [1, 2])
    recorder.record(3)
    #expect(try await recorder.next() == 3)
    #expect(try await recorder.first(2) == [1, 2])
    await #expect(throws: WaitExpired.self) { try await recorder.next(within: .milliseconds(1)) }
  }

  @Test func manyWritersAndReadersLoseNothing() async throws {
    let recorder = Recorder<Int>()
    let taken = try await withThrowingTaskGroup(of: Int?.self) { group in
      for number in 0..<200 {
        group.addTask {
          recorder.record(number)
          return nil
        }
        group.addTask { try await recorder.next() }
      }
      return try await group.reduce(into: [Int]()) { if let number = $1 { $0.append(number) } }
    }
    #expect(taken.sorted() == Array(0..<200))
  }

  @Test func eventuallyGivesUp() async throws {
    var asked = 0
    try await eventually("three questions", every: .milliseconds(1)) {
      asked += 1
      return asked == 3
    }
    #expect(asked == 3)
    await #expect(throws: WaitExpired.self) {
      try await eventually("never", within: .milliseconds(5), every: .milliseconds(1)) { false }
    }
  }
}
