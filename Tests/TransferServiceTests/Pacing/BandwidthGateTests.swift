import Foundation
import Synchronization
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

@Suite struct BandwidthGateTests {
  private static func table(_ rate: Int64?, _ hours: String? = nil) -> LimitTable {
    var table = LimitTable()
    table.set(BandwidthLimit(bytesPerSecond: rate, hours: hours.flatMap { DailyHours($0) }))
    return table
  }

  private let clock = FakeClock()
  private let path: [LimitSubject] = [.transfer(1), .session(2), .app(3), .service]
  private let other: [LimitSubject] = [.transfer(4), .session(5), .app(3), .service]

  @Test func theLowestLimitOfThePathCounts() {
    let gate = BandwidthGate(clock: clock)
    gate.set(Self.table(4_000), of: .service)
    gate.set(Self.table(2_000), of: .session(2))
    gate.count(5_000, of: path)
    #expect(abs(gate.wait(of: path) - 2.25) < 1e-6)
    #expect(abs(gate.wait(of: other) - 1) < 1e-6, "the service's limit is shared, that of the session is not")
    #expect(gate.wait(of: [.transfer(1)]) == 0)
  }

  @Test func aChangeCountsAtOnce() {
    let gate = BandwidthGate(clock: clock)
    gate.set(Self.table(2_000), of: .transfer(1))
    gate.count(10_500, of: path)
    #expect(abs(gate.wait(of: path) - 5) < 1e-6)
    gate.set(Self.table(20_000), of: .transfer(1))
    #expect(abs(gate.wait(of: path) - 0.5) < 1e-6)
    gate.set(LimitTable(), of: .transfer(1))
    #expect(gate.wait(of: path) == 0 && !gate.isLimiting(path))
  }

  @Test func hoursBeginAndEndWhileItRuns() {
    let minute = Mutex(479)
    let gate = BandwidthGate(clock: clock) { _ in minute.withLock { $0 } }
    gate.set(Self.table(2_000, "08:00-18:00"), of: .app(3))
    gate.count(1_000_000, of: path)
    #expect(gate.wait(of: path) == 0)
    minute.withLock { $0 = 480 }
    clock.advance(by: 1)
    gate.count(4_500, of: path)
    #expect(abs(gate.wait(of: path) - 2) < 1e-6)
    minute.withLock { $0 = 1_080 }
    clock.advance(by: 1)
    #expect(gate.wait(of: path) == 0)
  }

  @Test func theMinuteOfTheDayIsOfThisMachine() {
    #expect((0..<1_440).contains(BandwidthGate.localMinute(clock.date)))
    let later = BandwidthGate.localMinute(clock.date + 60)
    #expect(later == (BandwidthGate.localMinute(clock.date) + 1) % 1_440)
  }
}
