import Testing

@testable import CommandLineOutput

struct ProgressMeterTests {
  @Test func rateAndTimeLeft() {
    var meter = ProgressMeter()
    meter.update(done: 0, total: 1000, at: 0)
    #expect(meter.bytesPerSecond == 0)
    #expect(meter.secondsLeft == nil)
    meter.update(done: 200, total: 1000, at: 2)
    #expect(meter.bytesPerSecond == 100)
    #expect(meter.fraction == 0.2)
    #expect(meter.secondsLeft == 8)
  }

  @Test func oldSamplesDoNotCount() {
    var meter = ProgressMeter()
    meter.update(done: 0, total: nil, at: 0)
    for second in 1...10 { meter.update(done: 1000 + Int64(second), total: nil, at: Double(second)) }
    #expect(meter.bytesPerSecond == 1)
  }

  /// A megabyte that was in a buffer at the start, or after a standstill.
  @Test func bytesThatArriveAtOnceAreNoRate() {
    var meter = ProgressMeter()
    meter.update(done: 0, total: 10_000_000, at: 0)
    meter.update(done: 1_000_000, total: 10_000_000, at: 0.001)
    #expect(meter.bytesPerSecond == 1_000_000)
    meter.update(done: 1_500_000, total: 10_000_000, at: 0.5)
    #expect(meter.bytesPerSecond == 1_500_000)
    meter.update(done: 2_000_000, total: 10_000_000, at: 2)
    #expect(meter.bytesPerSecond == 1_000_000)
    meter.update(done: 2_000_000, total: 10_000_000, at: 20)
    meter.update(done: 3_000_000, total: 10_000_000, at: 20.001)
    #expect(meter.bytesPerSecond == 1_000_000)
  }

  @Test func startingOverIsNoNegativeRate() {
    var meter = ProgressMeter()
    meter.update(done: 500, total: 1000, at: 0)
    meter.update(done: 600, total: 1000, at: 1)
    meter.update(done: 10, total: 1000, at: 2)
    #expect(meter.bytesPerSecond == 0)
    meter.update(done: 20, total: 1000, at: 3)
    #expect(meter.bytesPerSecond == 10)
  }

  @Test(arguments: [(0, 0, 1.0), (5, 10, 0.5), (20, 10, 1.0), (5, -1, nil)] as [(Int64, Int64, Double?)])
  func fraction(_ done: Int64, _ total: Int64, _ fraction: Double?) {
    var meter = ProgressMeter()
    meter.update(done: done, total: total, at: 0)
    #expect(meter.fraction == fraction)
  }
}
