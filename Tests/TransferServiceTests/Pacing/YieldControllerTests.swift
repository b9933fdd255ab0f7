import Foundation
import SystemServices
import Testing

@testable import TransferService

@Suite struct YieldControllerTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Milliseconds of a round trip, and bytes per second, a tenth of a second apart.
    let samples: [(Double, Double)]
    let rate: Double?
  }

  static let cases = [
    Case(testDescription: "nothing known", samples: [], rate: nil),
    Case(testDescription: "a path without a queue", samples: [(20, 1e6), (20, 1e6), (22, 1e6)], rate: nil),
    Case(testDescription: "a long path without a queue", samples: [(300, 1e6), (310, 1e6)], rate: nil),
    Case(testDescription: "a queue below the target", samples: [(20, 1e6), (70, 1e6)], rate: nil),
    // 90 ms above a target of 60 ms: a quarter less.
    Case(testDescription: "a queue above the target", samples: [(20, 1e6), (110, 1e6)], rate: 750_000),
    Case(testDescription: "a long queue halves once", samples: [(20, 1e6), (2_000, 1e6)], rate: 500_000),
    Case(
      testDescription: "and again while it lasts", samples: [(20, 1e6), (2_000, 1e6), (2_000, 1e6)], rate: 250_000),
    Case(
      testDescription: "it always goes on", samples: [(20, 1e6)] + Array(repeating: (2_000, 20_000), count: 20),
      rate: YieldController.lowestRate),
    // No queue: a tenth more.
    Case(testDescription: "it rises again", samples: [(20, 1e6), (2_000, 1e6), (20, 500_000)], rate: 550_000),
    Case(
      testDescription: "a rate that holds nothing back is none",
      samples: [(20, 1e6), (2_000, 1e6)] + Array(repeating: (20, 50_000), count: 3), rate: nil),
    Case(testDescription: "no measure", samples: [(20, 1e6), (0, 1e6)], rate: nil),
  ]

  @Test(arguments: cases) func rateFollowsTheDelay(_ test: Case) {
    var controller = YieldController()
    var now = BootInstant(nanoseconds: 0)
    for (delay, throughput) in test.samples {
      now = now + YieldController.interval
      controller.sample(delay: delay / 1_000, throughput: throughput, at: now)
    }
    switch (controller.rate, test.rate) {
    case (let rate?, let expected?): #expect(abs(rate - expected) < 1)
    case (let rate, let expected): #expect(rate == expected)
    }
  }

  /// At the lowest rate a piece that is read takes seconds.
  @Test(arguments: [(0.3, 650_000), (4, 1_000_000)]) func theRateRisesWithTheTime(_ pause: Double, _ expected: Double) {
    var controller = YieldController()
    var now = BootInstant(nanoseconds: 0)
    for (delay, later) in [(0.02, 0.1), (2, 0.1), (0.02, pause)] {
      now = now + later
      controller.sample(delay: delay, throughput: 1e6, at: now)
    }
    #expect(abs((controller.rate ?? 0) - expected) < 1)
  }

  /// A path of 20 ms, and a target of 60 ms.
  @Test func theReceiveWindowFollowsTheRate() {
    var controller = YieldController()
    #expect(controller.window(throughput: 1e6) == nil)
    var now = BootInstant(nanoseconds: 0)
    func sample(_ delay: Double) {
      now = now + YieldController.interval
      controller.sample(delay: delay, throughput: 1e6, at: now)
    }
    sample(0.02)
    #expect(controller.window(throughput: 1e6) == 160_000, "twice as many as came: it may become faster")
    #expect(controller.window(throughput: 1_000) == 65_536)
    sample(2)
    #expect(controller.rate == 500_000 && controller.window(throughput: 1e6) == 40_000)
    for _ in 0..<20 { sample(2) }
    #expect(controller.rate == YieldController.lowestRate && controller.window(throughput: 1e6) == 12_288)
  }

  /// RFC 6817 §2.2: a path that becomes longer is no queue for ever.
  @Test func theLowestDelayIsForgotten() {
    var controller = YieldController()
    var now = BootInstant(nanoseconds: 0)
    controller.sample(delay: 0.02, throughput: 1e6, at: now)
    for _ in 0..<12 {
      now = now + 61
      controller.sample(delay: 0.2, throughput: 1e6, at: now)
    }
    let lowest = controller.rate
    now = now + 1
    controller.sample(delay: 0.2, throughput: 1e6, at: now)
    #expect((controller.rate ?? .infinity) > (lowest ?? 0))
  }

  /// A link of 1 MB/s with a queue of half a second. Other traffic takes 700 kB/s of it for a minute.
  private func share(yielding: Bool) -> (queue: Double, during: Double, after: Double) {
    var controller = YieldController()
    var queue = 0.0
    let (capacity, room) = (1e6, 5e5)
    var (delays, during, after): ([Double], [Double], [Double]) = ([], [], [])
    for step in 0..<1_200 {
      let other = (20..<600).contains(step) ? 7e5 : 0.0
      let unlimited = queue < room * 0.99 ? 1.5e6 : max(capacity - other, 1e5)
      let sent = yielding ? controller.rate ?? unlimited : unlimited
      queue = min(max(0, queue + (sent + other - capacity) * 0.1), room)
      let throughput = sent + other > capacity ? capacity * sent / (sent + other) : sent
      controller.sample(
        delay: 0.02 + queue / capacity, throughput: throughput,
        at: BootInstant(nanoseconds: Int64(step + 1) * 100_000_000))
      if (200..<600).contains(step) {
        delays.append(queue / capacity)
        during.append(throughput)
      } else if step >= 700 {
        after.append(throughput)
      }
    }
    func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(values.count) }
    return (mean(delays), mean(during), mean(after))
  }

  @Test func otherTrafficFindsNoQueueAndAFreeLinkIsUsed() {
    let (greedy, yielding) = (share(yielding: false), share(yielding: true))
    #expect(greedy.queue > 0.4)
    #expect(yielding.queue < 0.1)
    #expect(yielding.during < 350_000 && yielding.after > 900_000)
  }
}
