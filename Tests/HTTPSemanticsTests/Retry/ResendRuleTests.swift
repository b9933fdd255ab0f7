import HTTPSemantics
import Testing

@Suite struct ResendRuleTests {
  @Test func refusalsAreAnsweredWithLongerAndLongerPauses() {
    var rule = ResendRule()
    let verdicts = (0..<7).map { _ in rule.refused(jitter: 1) }
    let pauses = [100, 200, 400, 800, 1_600].map { ResendRule.Verdict.after(milliseconds: $0) }
    #expect(verdicts == [.now] + pauses + [.giveUp])
  }

  /// Twice is chance; from the third on there are pauses, all together no longer than a load waits for a byte.
  @Test func connectionsThatServeNothingAreAnsweredWithPauses() {
    var rule = ResendRule()
    let verdicts = (0...ResendRule.maximumDepartures).map { _ in rule.departed(hasServed: false, jitter: 1) }
    #expect(
      verdicts.prefix(5) == [
        .now, .now, .after(milliseconds: 200), .after(milliseconds: 400), .after(milliseconds: 400),
      ])
    #expect(verdicts.last == .giveUp)
    let pauses = verdicts.compactMap { if case .after(let milliseconds) = $0 { milliseconds } else { nil } }
    #expect(pauses.count == ResendRule.maximumDepartures - ResendRule.pardonedDepartures)
    #expect(pauses.reduce(0, +) < 60_000)
  }

  /// A server that ends each connection after some requests is followed as fast as it likes, though not for ever.
  @Test func connectionsThatServedAreReplacedAtOnce() {
    var rule = ResendRule()
    for _ in 0..<ResendRule.maximumDepartures { #expect(rule.departed(hasServed: true, jitter: 0.5) == .now) }
    #expect(rule.departed(hasServed: true, jitter: 0.5) == .giveUp)
  }

  @Test(arguments: [(-1.0, 50), (0, 50), (0.5, 75), (1, 100), (9, 100), (.nan, 100)] as [(Double, Int64)])
  func pausesAreJittered(_ jitter: Double, _ milliseconds: Int64) {
    var rule = ResendRule()
    _ = rule.refused(jitter: jitter)
    #expect(rule.refused(jitter: jitter) == .after(milliseconds: milliseconds))
  }
}
