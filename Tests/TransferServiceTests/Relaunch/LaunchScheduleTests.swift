import Foundation
import Testing
import TransferService

@Suite struct LaunchScheduleTests {
  static let launches: [(launches: Int, since: TimeInterval?, wait: TimeInterval?)] = [
    (0, nil, 0), (0, 5, 0), (1, 0, 10), (1, 4, 6), (1, 100, 0), (2, 0, 20), (3, 10, 30), (9, 0, 2_560), (10, 0, 3_600),
    (29, 0, 3_600), (30, 100_000, nil), (1, -50, 10),
  ]

  @Test(arguments: launches)
  func pausesBetweenLaunchesDoubleUpToTheLongest(launches: Int, since: TimeInterval?, wait: TimeInterval?) {
    let schedule = LaunchSchedule(firstWait: 10, longestWait: 3_600, limit: 30)
    #expect(schedule.wait(launches: launches, sinceLast: since) == wait)
  }
}
