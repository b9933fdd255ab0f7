import Foundation
import Testing

@testable import TransferService

@Suite struct RestartScheduleTests {
  @Test func pausesDoubleUpToHalfAMinute() {
    var schedule = RestartSchedule()
    let decisions = (0..<12).map { _ in schedule.ended(byItself: false, after: 1) }
    let pauses = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]
    #expect(decisions == pauses.map { .pause($0) })
    #expect(schedule.ended(byItself: false, after: 31) == .pause(0.05), "it lived for long")
  }

  @Test func pausesThatNoneCutsShortAreShorter() {
    var schedule = RestartSchedule()
    let decisions = (0..<9).map { _ in schedule.ended(byItself: false, after: 1, isToldOfNeeds: false) }
    #expect(decisions == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5].map { .pause($0) })
  }

  @Test func givesUpAfterTenThatEndedByThemselves() {
    var schedule = RestartSchedule()
    for _ in 1...9 { #expect(schedule.ended(byItself: true, after: 1) != .giveUp) }
    #expect(schedule.ended(byItself: false, after: 1) != .giveUp)
    for _ in 1...9 { #expect(schedule.ended(byItself: true, after: 1) != .giveUp) }
    #expect(schedule.ended(byItself: true, after: 31) != .giveUp)
    for _ in 1...9 { #expect(schedule.ended(byItself: true, after: 1) != .giveUp) }
    #expect(schedule.ended(byItself: true, after: 1) == .giveUp)
  }

  static let needs: [(pause: TimeInterval, sinceStart: TimeInterval, left: TimeInterval)] = [
    (25, 5, 0), (25, 1, 0), (25, 0.25, 0.75), (0.5, 0.25, 0.5), (0, 0, 0),
  ]

  /// At once, but not more often than once a second.
  @Test(arguments: needs) func aNeedCutsThePauseShort(
    pause: TimeInterval, sinceStart: TimeInterval, left: TimeInterval
  ) { #expect(RestartSchedule.pause(whenNeeded: pause, sinceStart: sinceStart) == left) }
}
