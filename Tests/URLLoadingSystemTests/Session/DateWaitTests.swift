import Foundation
import Testing

@testable import URLLoadingSystem

@Suite struct DateWaitTests {
  static let now = Date(timeIntervalSinceReferenceDate: 1000)

  @Test(
    arguments: [
      (-1, nil), (0, nil), (0.25, 0.25), (60, 60), (61, 60), (1e12, 60), (.infinity, 60), (.nan, nil),
    ] as [(TimeInterval, TimeInterval?)])
  func pausesAreShort(rest: TimeInterval, pause: TimeInterval?) {
    #expect(DateWait.pause(until: DateWaitTests.now.addingTimeInterval(rest), now: DateWaitTests.now) == pause)
  }

  /// The machine slept for an hour in the second pause; then its clock was set back by half an hour.
  @Test func whatBecomesOfTheClockIsNoticed() {
    let date = DateWaitTests.now.addingTimeInterval(3000)
    var now = DateWaitTests.now
    var pauses = 0
    while let pause = DateWait.pause(until: date, now: now) {
      pauses += 1
      now += pause + (pauses == 2 ? 3600 : 0)
    }
    #expect(pauses == 2)
    #expect(DateWait.pause(until: date, now: now.addingTimeInterval(-1800)) == 60)
  }
}
