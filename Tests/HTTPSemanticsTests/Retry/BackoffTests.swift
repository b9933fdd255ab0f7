import HTTPSemantics
import Testing

@Suite struct BackoffTests {
  @Test(
    arguments: [
      (1, 1, 2), (2, 2, 4), (3, 4, 8), (9, 256, 512), (10, 300, 600), (11, 300, 600), (Int.max, 300, 600),
    ] as [(Int, Double, Double)])
  func windows(failures: Int, shortest: Double, longest: Double) {
    #expect(Backoff.delay(afterFailures: failures, jitter: 0) == shortest)
    #expect(Backoff.delay(afterFailures: failures, jitter: 1) == longest)
    #expect(Backoff.delay(afterFailures: failures, jitter: 0.5) == (shortest + longest) / 2)
  }

  @Test(arguments: [(-1.0, 1.0), (7.0, 2.0), (Double.nan, 2.0), (-Double.infinity, 2.0)])
  func jitterOutsideTheUnitIsClamped(jitter: Double, delay: Double) {
    #expect(Backoff.delay(afterFailures: 1, jitter: jitter) == delay)
  }

  @Test func progressStartsAnew() {
    var backoff = Backoff()
    #expect(backoff.failed(jitter: 0) == 1)
    #expect(backoff.failed(jitter: 0) == 2)
    #expect(backoff.failed(jitter: 0) == 4)
    #expect(backoff.failures == 3)
    backoff.progressed()
    #expect(backoff.failures == 0)
    #expect(backoff.failed(jitter: 0) == 1)
  }

  @Test func noFailureNoWait() {
    #expect(Backoff.delay(afterFailures: 0, jitter: 1) == 0)
    #expect(Backoff(failures: -4).failures == 0)
    var endless = Backoff(failures: .max)
    #expect(endless.failed(jitter: 0) == 300)
  }
}
