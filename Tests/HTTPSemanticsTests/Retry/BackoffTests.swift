import HTTPSemantics
import Testing

@Suite struct BackoffTests {
  @Test(
    arguments: [
      (1, 1, 2), (2, 2, 4), (3, 4, 8), (9, 256, 512), (10, 300, 600), (11, 300, 600), (Int.max, 300, 600),
    ] as [(Int, Double, Double)])
  func delayDoublesUpToTheLongest(failures: Int, shortest: Double, longest: Double) {
    #expect(Backoff.delay(afterFailures: failures, jitter: 0) == shortest)
    #expect(Backoff.delay(afterFailures: failures, jitter: 1) == longest)
    #expect(Backoff.delay(afterFailures: failures, jitter: 0.5) == (shortest + longest) / 2)
  }

  @Test(arguments: [(-1.0, 1.0), (7.0, 2.0), (Double.nan, 2.0), (-Double.infinity, 2.0)])
  func jitterOutsideTheUnitIsClamped(jitter: Double, delay: Double) {
    #expect(Backoff.delay(afterFailures: 1, jitter: jitter) == delay)
  }

  @Test(arguments: [0, -4]) func delayIsZeroWithoutFailures(failures: Int) {
    #expect(Backoff.delay(afterFailures: failures, jitter: 1) == 0)
  }
}
