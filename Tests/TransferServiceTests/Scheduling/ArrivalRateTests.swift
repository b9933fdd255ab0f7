import SystemServices
import Testing

@testable import TransferService

@Suite struct ArrivalRateTests {
  private func at(_ seconds: Int64) -> BootInstant { BootInstant(nanoseconds: seconds * 1_000_000_000) }

  @Test func isKnownAfterAWindow() {
    var rate = ArrivalRate(at: at(0))
    rate.add(3_000, at: at(10))
    #expect(rate.perSecond(at: at(29)) == nil)
    #expect(rate.perSecond(at: at(30)) == 100)
  }

  @Test func forgetsWhatIsOlderThanTwoWindows() {
    var rate = ArrivalRate(at: at(0))
    rate.add(1 << 30, at: at(29))
    for second: Int64 in stride(from: 30, through: 90, by: 15) { rate.look(at: at(second)) }
    #expect(rate.perSecond(at: at(90)) == 0)
  }

  @Test func takesNoBytesAway() {
    var rate = ArrivalRate(at: at(0))
    rate.add(-500, at: at(1))
    #expect(rate.perSecond(at: at(30)) == 0)
  }
}
