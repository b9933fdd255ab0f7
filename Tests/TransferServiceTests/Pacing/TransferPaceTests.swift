import Foundation
import SystemFakes
import Testing
import TransferProtocol

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

  @Test func theOtherSideSendsNoMoreAheadThanTheRateNeeds() {
    let pace = pace(yields: true)
    #expect(pace.receiveWindow == nil)
    run(pace, milliseconds: [20, 20])
    let free = pace.receiveWindow ?? 0
    run(pace, milliseconds: [500])
    #expect(free > 100_000 && pace.receiveWindow ?? .max < free / 2)
    pace.setYields(false)
    #expect(pace.receiveWindow == nil)
  }

  @Test func aTransferThatDoesNotYieldMeasuresNothing() {
    let pace = pace(yields: false)
    #expect(!pace.count(100_000))
    run(pace, milliseconds: [20, 500, 500])
    #expect(pace.wait() == 0 && !pace.isHoldingBack)
  }

  /// A quarter of a second of the rate may go at once: a piece is less than half of that.
  @Test(arguments: [(1_024, 1_024), (20_000, 2_000), (1_000_000, 100_000), (.max, 262_144)] as [(Int64, Int)])
  func aBodyIsSentInSmallPiecesBelowALimit(_ rate: Int64, _ expected: Int) {
    func table(_ rate: Int64) -> LimitTable {
      var table = LimitTable()
      table.set(BandwidthLimit(bytesPerSecond: rate))
      return table
    }
    let gate = BandwidthGate(clock: clock)
    let pace = TransferPace(gate: gate, path: [.transfer(1), .service], clock: clock, yields: false)
    #expect(pace.largestPiece == nil)
    gate.set(table(.max), of: .transfer(1))
    gate.set(table(rate), of: .service)
    #expect(pace.largestPiece == expected)
    gate.set(LimitTable(), of: .transfer(1))
    gate.set(LimitTable(), of: .service)
    #expect(pace.largestPiece == nil)
  }

  @Test func aBodyIsSentInSmallPiecesWhileItYields() throws {
    let pace = pace(yields: true)
    run(pace, milliseconds: [20, 20])
    #expect(pace.largestPiece == nil)
    run(pace, milliseconds: [500, 500])
    #expect(try #require(pace.largestPiece) < 100_000)
  }

  @Test func measuresOncePerInterval() {
    let pace = pace(yields: true)
    #expect(pace.count(1))
    pace.measured(0.02)
    #expect(!pace.count(1))
    clock.advance(by: YieldController.interval)
    #expect(pace.count(1))
  }

  /// Ten seconds of a limit come at once, then no more bytes.
  @Test func theTimeInWhichNothingMayBeReadIsCounted() {
    let gate = BandwidthGate(clock: clock)
    let pace = TransferPace(gate: gate, path: [.service], clock: clock, yields: false)
    var table = LimitTable()
    table.set(BandwidthLimit(bytesPerSecond: 2_000))
    gate.set(table, of: .service)
    _ = pace.count(20_500)
    #expect(pace.heldBackTime() == 0)
    while pace.wait() > 0 { clock.advance(by: TransferPace.longestWait) }
    #expect(pace.heldBackTime() == 10)
    clock.advance(by: 60)
    #expect(pace.wait() == 0 && pace.heldBackTime() == 10, "the server sends nothing")
    _ = pace.count(2_500)
    #expect(pace.wait() > 0)
    clock.advance(by: 0.5)
    #expect(pace.heldBackTime() == 10.5, "it waits still")
    // An answer has come before the whole body was sent.
    pace.waitEnded()
    clock.advance(by: 30)
    #expect(pace.heldBackTime() == 10.5)
  }
}
