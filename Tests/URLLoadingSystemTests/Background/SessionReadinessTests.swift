import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

@Suite struct SessionReadinessTests {
  @Test func actionsRunOnceItIsDecided() {
    let readiness = SessionReadiness()
    let ran = Recorder<Int>()
    readiness.whenSettled { ran.record(1) }
    #expect(ran.all.isEmpty)
    readiness.succeed()
    #expect(ran.all == [1] && readiness.failure == nil)
    readiness.whenSettled { ran.record(2) }
    readiness.succeed()
    #expect(ran.all == [1, 2])
  }

  @Test func aFailureStays() {
    let readiness = SessionReadiness()
    readiness.fail(URLError(.backgroundSessionWasDisconnected))
    readiness.succeed()
    #expect(readiness.failure?.code == .backgroundSessionWasDisconnected)
  }
}
