import Foundation
import Testing
import TransferService

@Suite struct LaunchScheduleTests {
  static let launches: [(launches: Int, since: TimeInterval?, wait: TimeInterval)] = [
    (0, nil, 0), (0, 5, 0), (1, 0, 10), (1, 4, 6), (1, 100, 0), (2, 0, 20), (3, 10, 30), (9, 0, 2_560), (10, 0, 3_600),
    (29, 0, 3_600), (2_000, 0, 3_600), (1, -50, 10),
  ]

  @Test(arguments: launches)
  func pausesBetweenLaunchesDoubleUpToTheLongest(launches: Int, since: TimeInterval?, wait: TimeInterval) {
    let schedule = LaunchSchedule(firstWait: 10, longestWait: 3_600, limit: 30)
    #expect(schedule.wait(launches: launches, sinceLast: since) == wait)
  }

  static let memory: [(launches: Int, since: TimeInterval?, isForgotten: Bool)] = [
    (0, nil, true), (1, nil, true), (1, 0, false), (1, 3_609, false), (1, 3_610, true), (9, 3_700, false),
    (9, 6_160, true), (100, 7_199, false), (100, 7_200, true),
  ]

  /// An app that is started as soon as each pause is over never gets the first pause again.
  @Test(arguments: memory) func launchesAreForgottenLongAfterThePause(
    launches: Int, since: TimeInterval?, isForgotten: Bool
  ) {
    let schedule = LaunchSchedule(firstWait: 10, longestWait: 3_600, limit: 30)
    #expect(schedule.forgets(launches: launches, sinceLast: since) == isForgotten)
  }
}
