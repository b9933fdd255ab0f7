import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct LaneLimitsTests {
  private let start = NIODeadline.now()

  /// Of two pieces of work that count for three seconds each.
  @Test func workThatTakesLongNoLongerCounts() {
    var limits = LaneLimits(limit: 2, patience: .seconds(3), most: 4)
    _ = limits.beganOnNewThread(at: start)
    #expect(limits.mayAddThread(at: start))
    let second = limits.beganOnNewThread(at: start + .seconds(1))
    #expect(!limits.mayAddThread(at: start + .seconds(1)))
    #expect(limits.nextRoom(after: start + .seconds(1)) == start + .seconds(3))
    #expect(!limits.mayAddThread(at: start + .milliseconds(2_999)))
    #expect(limits.mayAddThread(at: start + .seconds(3)))
    #expect(limits.nextRoom(after: start + .seconds(3)) == start + .seconds(3))
    _ = limits.beganOnNewThread(at: start + .seconds(3))
    #expect(!limits.mayAddThread(at: start + .seconds(3)))
    limits.ended(second)
    #expect(limits.mayAddThread(at: start + .seconds(3)))
  }

  @Test func theThreadsHaveABound() {
    var limits = LaneLimits(limit: 1, patience: .seconds(3), most: 2)
    let first = limits.beganOnNewThread(at: start)
    _ = limits.beganOnNewThread(at: start + .seconds(3))
    #expect(!limits.mayAddThread(at: start + .hours(1)))
    #expect(limits.nextRoom(after: start + .hours(1)) == nil)
    // Its thread is there for other work, and no other is made.
    limits.ended(first)
    #expect(!limits.mayAddThread(at: start + .hours(1)))
    #expect(limits.began(at: start + .hours(1)) != first)
  }
}
