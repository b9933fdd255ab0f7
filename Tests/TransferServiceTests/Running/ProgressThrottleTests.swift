import NIOCore
import Testing

@testable import TransferService

/// When the progress of a run is reported.
@Suite struct ProgressThrottleTests {
  typealias Verdict = ProgressThrottle.Verdict

  private static func at(_ milliseconds: Int64) -> NIODeadline { .uptimeNanoseconds(1) + .milliseconds(milliseconds) }

  @Test func bytesAreReportedOnceAnIntervalAtMost() {
    var throttle = ProgressThrottle()
    let verdicts = [0, 40, 60, 110, 150].map { throttle.advanced(at: Self.at($0)) }
    #expect(
      verdicts == [.report, .reportAfter(.milliseconds(60)), .wait, .report, .wait],
      "the delay of the second is still under way at the last")
  }

  @Test func theLastBytesBeforeAStandstillAreReported() {
    var throttle = ProgressThrottle()
    #expect(throttle.advanced(at: Self.at(0)) == .report)
    #expect(throttle.advanced(at: Self.at(30)) == .reportAfter(.milliseconds(70)))
    #expect(throttle.delayEnded(at: Self.at(100)) == true)
    // The delayed report counts like others.
    #expect(throttle.advanced(at: Self.at(150)) == .reportAfter(.milliseconds(50)))
  }

  @Test func whatWasReportedIsNotReportedAgainAfterADelay() {
    var throttle = ProgressThrottle()
    #expect(throttle.advanced(at: Self.at(0)) == .report)
    #expect(throttle.advanced(at: Self.at(30)) == .reportAfter(.milliseconds(70)))
    #expect(throttle.advanced(at: Self.at(50), mustReport: true) == .report)
    #expect(throttle.delayEnded(at: Self.at(100)) == false)
    #expect(throttle.advanced(at: Self.at(160)) == .report)
  }

  @Test func aCancelledDelayReportsNothing() {
    var throttle = ProgressThrottle()
    #expect(throttle.advanced(at: Self.at(0)) == .report)
    #expect(throttle.advanced(at: Self.at(30)) == .reportAfter(.milliseconds(70)))
    throttle.cancelDelay()
    #expect(throttle.delayEnded(at: Self.at(100)) == false)
    #expect(throttle.advanced(at: Self.at(60)) == .reportAfter(.milliseconds(40)))
  }
}
