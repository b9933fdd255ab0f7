import Dispatch
import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct BlockingLanesTests {
  private let began = Recorder<Int>()
  private let release = DispatchSemaphore(value: 0)

  /// Pieces of work that run at the same time, until each is released.
  private func runTogether(_ count: Int, on lanes: BlockingLanes) async throws {
    let before = began.count
    for number in 0..<count {
      lanes.run { [began, release] in
        began.record(number)
        release.wait()
      }
    }
    _ = try await began.first(before + count)
    for _ in 0..<count { release.signal() }
  }

  @Test func threadsOfABurstEndButForAFew() async throws {
    let lanes = BlockingLanes(limit: 16, kept: 2, idleTime: .milliseconds(20))
    for _ in 0..<2 {
      try await runTogether(16, on: lanes)
      try await eventually("the threads to end") { lanes.threadCount == 2 }
    }
    // Those that stay take work.
    try await runTogether(2, on: lanes)
    #expect(lanes.threadCount == 2)
  }

  @Test func threadsStayForSomeTime() async throws {
    let lanes = BlockingLanes(limit: 8, kept: 0, idleTime: .hours(1))
    try await runTogether(8, on: lanes)
    #expect(lanes.threadCount == 8)
  }

  /// An end makes room for work that waits.
  @Test func workThatWaitsRunsWhereThreadsEnd() async throws {
    let lanes = BlockingLanes(limit: 4, most: 4, kept: 0, idleTime: .zero)
    for round in 1...20 {
      for number in 0..<8 { lanes.run { [began] in began.record(number) } }
      _ = try await began.first(8 * round)
    }
    try await eventually("the threads to end") { lanes.threadCount == 0 }
  }
}
