import Foundation
import SystemFakes
import Testing

@testable import TransferService

@Suite struct TransferPaceTests {
  private let clock = FakeClock()

  private func pace(yields: Bool) -> TransferPace {
    TransferPace(gate: BandwidthGate(clock: clock), path: [.service], clock: clock, yields: yields)
  }

  /// 100 KB each tenth of a second, with this delay.
  private func run(_ pace: TransferPace, milliseconds: [Double]) {
    for delay in milliseconds {
      clock.advance(by: 0.1)
      if pace.count(100_000) { pace.measured(delay / 1_000) }
    }
  }

  @Test func aQueueOnTheWayHoldsTheNextBytesBack() {
    let pace = pace(yields: true)
    run(pace, milliseconds: [20, 20, 500, 500])
    #expect(pace.isHoldingBack)
    _ = pace.count(1_000_000)
    #expect(pace.wait() == TransferPace.longestWait, "it is asked again soon")
    pace.setYields(false)
    #expect(pace.wait() == 0 && !pace.isHoldingBack)
  }

  @Test func aTransferThatDoesNotYieldMeasuresNothing() {
    let pace = pace(yields: false)
    #expect(!pace.count(100_000))
    run(pace, milliseconds: [20, 500, 500])
    #expect(pace.wait() == 0 && !pace.isHoldingBack)
  }

  @Test func measuresOncePerInterval() {
    let pace = pace(yields: true)
    #expect(pace.count(1))
    pace.measured(0.02)
    #expect(!pace.count(1))
    clock.advance(by: YieldController.interval)
    #expect(pace.count(1))
  }
}
