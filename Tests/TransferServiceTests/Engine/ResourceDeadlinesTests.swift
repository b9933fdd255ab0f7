import Foundation
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

@Suite struct ResourceDeadlinesTests {
  private func at(_ seconds: Int64) -> BootInstant { BootInstant(nanoseconds: seconds * 1_000_000_000) }

  @Test func givesThoseThatAreOverOnce() {
    var deadlines = ResourceDeadlines()
    #expect(deadlines.earliest == nil && deadlines.takeOverdue(at: at(9)) == [])
    (deadlines[1], deadlines[2], deadlines[3]) = (at(5), at(3), at(9))
    #expect(deadlines.earliest == at(3) && deadlines.takeOverdue(at: at(2)) == [])
    #expect(deadlines.takeOverdue(at: at(5)) == [1, 2])
    #expect(deadlines.earliest == at(9))
    deadlines[3] = nil
    #expect(deadlines.takeOverdue(at: at(10)) == [] && deadlines.earliest == nil)
  }

  @Test func theTimeBeginsAtTheEarliestDate() {
    let clock = FakeClock()
    for (delay, begins) in [(nil, 0), (-50, 0), (50.0, 50.0)] as [(TimeInterval?, TimeInterval)] {
      let start = ResourceTime.start(earliestBegin: delay.map { clock.date + $0 }, clock: clock)
      #expect(start.instant(on: clock, past: 0, future: 0) - clock.now == begins)
    }
  }

  @Test func anotherStartOfTheMachineTakesHalfOfTheTimeAtMost() {
    let clock = FakeClock()
    let start = ResourceTime.start(earliestBegin: nil, clock: clock)
    clock.restartMachine(after: 1_000_000)
    let instant = ResourceTime.start(start, limit: 100, earliestBegin: nil, clock: clock)
    #expect(clock.now - instant == 50)
  }

  @Test(arguments: [nil, 0, -1, .infinity, .nan] as [TimeInterval?])
  func anIntervalThatIsNoneMeansNoLimit(interval: TimeInterval?) {
    var options = SessionOptions()
    options.timeoutIntervalForResource = interval
    #expect(ResourceTime.limit(options) == (interval == nil ? ResourceTime.defaultLimit : .infinity))
  }
}
