import Foundation
import SystemServices
import Testing

@testable import TransferService

@Suite struct ThroughputWatchTests {
  struct Report: Sendable {
    let after: TimeInterval
    let moved: Int64
    var isHeldBack = false
  }

  @Test(arguments: [
    ("fast", [Report(after: 120, moved: 1_000_000)], false),
    ("slow", [Report(after: 120, moved: 1_000)], true),
    ("slow, not for long", [Report(after: 119, moved: 1_000)], false),
    ("slow because it is held back", [Report(after: 120, moved: 1_000, isHeldBack: true)], false),
    (
      "held back for the first part",
      [
        Report(after: 100, moved: 1_000, isHeldBack: true), Report(after: 60, moved: 2_000),
      ], false
    ),
    ("begun anew", [Report(after: 100, moved: 0), Report(after: 10, moved: -5)], false),
    ("fast, then slow", [Report(after: 120, moved: 1_000_000), Report(after: 120, moved: 1_000_100)], true),
  ])
  func tellsWhetherItIsTooSlow(_ name: String, _ reports: [Report], _ isTooSlow: Bool) {
    var now = BootInstant(nanoseconds: 0)
    var watch = ThroughputWatch(at: now, moved: 0)
    var last = false
    for report in reports {
      now = now + report.after
      last = watch.isTooSlow(moved: report.moved, isHeldBack: report.isHeldBack, at: now)
    }
    #expect(last == isTooSlow)
  }
}
