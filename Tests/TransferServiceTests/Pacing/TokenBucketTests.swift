import Foundation
import SystemServices
import Testing

@testable import TransferService

@Suite struct TokenBucketTests {
  private static let start = BootInstant(nanoseconds: 1_000_000_000)

  enum Step: Sendable {
    case take(Int, after: TimeInterval)
    case rate(Double, after: TimeInterval)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let steps: [Step]
    /// Seconds to wait after the last step.
    let wait: TimeInterval
  }

  static let cases = [
    Case(testDescription: "a quarter of a second may come at once", steps: [.take(250, after: 0)], wait: 0),
    Case(testDescription: "more is a debt", steps: [.take(1_250, after: 0)], wait: 1),
    Case(testDescription: "time pays it", steps: [.take(1_250, after: 0), .take(0, after: 0.75)], wait: 0.25),
    Case(testDescription: "several takes add up", steps: [.take(1_250, after: 0), .take(500, after: 1)], wait: 0.5),
    Case(testDescription: "a pause saves no more than the burst", steps: [.take(750, after: 1_000)], wait: 0.5),
    Case(
      testDescription: "a higher rate pays a debt sooner", steps: [.take(1_250, after: 0), .rate(4_000, after: 0)],
      wait: 0.25),
    Case(
      testDescription: "a lower rate pays it later", steps: [.take(1_250, after: 0), .rate(500, after: 0.5)], wait: 1),
    Case(
      testDescription: "a lower rate has a smaller burst", steps: [.rate(400, after: 0), .take(200, after: 0)],
      wait: 0.25),
    Case(testDescription: "a clock that stands still pays nothing", steps: [.take(450, after: -5)], wait: 0.2),
  ]

  @Test(arguments: cases) func waitsUntilItsDebtIsPaid(_ test: Case) {
    var bucket = TokenBucket(rate: 1_000, at: Self.start)
    var now = Self.start
    for step in test.steps {
      switch step {
      case .take(let bytes, let seconds):
        now = now + seconds
        bucket.take(bytes, at: now)
      case .rate(let rate, let seconds):
        now = now + seconds
        bucket.setRate(rate, at: now)
      }
    }
    #expect(abs(bucket.wait(at: now) - test.wait) < 1e-6)
  }
}
