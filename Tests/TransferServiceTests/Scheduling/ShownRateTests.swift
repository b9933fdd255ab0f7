import SystemServices
import Testing

@testable import TransferService

@Suite struct ShownRateTests {
  private func at(_ seconds: Double) -> BootInstant { BootInstant(nanoseconds: 0) + seconds }

  @Test func isKnownFromTheFirstBytesOn() {
    var rate = ShownRate(at: at(0))
    #expect(rate.perSecond(at: at(0)) == 0)
    rate.add(500, at: at(0))
    #expect(rate.perSecond(at: at(0.1)) == 500, "they count as if they had taken a second")
    rate.add(1_500, at: at(4))
    #expect(rate.perSecond(at: at(4)) == 500)
  }

  /// Under a limit of 200 KB/s bytes are counted each 2.6 s; under one of 50 KB/s each 10 s.
  @Test(arguments: [0.1, 2.6, 10, 25]) func longStepsShowTheSameRateAtEachMoment(_ step: Double) {
    var rate = ShownRate(at: at(0))
    let count = Int(60 / step) + 3
    for number in 1...count { rate.add(Int64(step * 1_000), at: at(step * Double(number))) }
    for part in stride(from: 0, to: 1, by: 0.1) {
      let shown = rate.perSecond(at: at(step * (Double(count) + part)))
      #expect(shown > 0 && shown <= 1_001, "\(part): \(shown)")
      if step < ShownRate.window { #expect(shown >= 999, "\(part): \(shown)") }
    }
  }

  @Test func followsTheNetwork() {
    var rate = ShownRate(at: at(0))
    for second in 1...10 { rate.add(10_000, at: at(Double(second))) }
    for second in 11...17 { rate.add(100, at: at(Double(second))) }
    #expect(rate.perSecond(at: at(17)) == 100)
  }

  @Test func aStandstillIsShownInTheEnd() {
    var rate = ShownRate(at: at(0))
    rate.add(10_000, at: at(10))
    let shown = [11, 20, 39.9].map { rate.perSecond(at: at($0)) }
    #expect(shown == shown.sorted(by: >) && shown.allSatisfy { $0 > 0 })
    #expect(rate.perSecond(at: at(40)) == 0)
  }

  @Test func countsThatCannotBeAreNone() {
    var rate = ShownRate(at: at(0))
    rate.add(-500, at: at(1))
    #expect(rate.perSecond(at: at(2)) == 0)
    rate.add(.max, at: at(1))
    #expect(rate.perSecond(at: at(2)) == .max)
    rate.add(.max, at: at(2))
    #expect(rate.perSecond(at: at(2)) == 0)
  }
}
