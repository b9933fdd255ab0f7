import HTTPSemantics
import Testing

@Suite struct ResendRuleTests {
  @Test func pausesGrowAfterRefusals() {
    var rule = ResendRule()
    let verdicts = (0..<7).map { _ in rule.refused(jitter: 1) }
    let pauses = [100, 200, 400, 800, 1_600].map { ResendRule.Verdict.after(milliseconds: $0) }
    #expect(verdicts == [.now] + pauses + [.giveUp])
  }

  /// From the third on there are pauses, all together shorter than the default request time-out.
  @Test func pausesFollowConnectionsThatServedNothing() {
    var rule = ResendRule()
    let verdicts = (0...ResendRule.maximumDepartures).map { _ in rule.departed(hasServed: false, jitter: 1) }
    #expect(
      verdicts.prefix(5) == [
        .now, .now, .after(milliseconds: 200), .after(milliseconds: 400), .after(milliseconds: 400),
      ])
    #expect(verdicts.last == .giveUp)
    let pauses = verdicts.compactMap { if case .after(let milliseconds) = $0 { milliseconds } else { nil } }
    #expect(pauses.count == ResendRule.maximumDepartures - ResendRule.departuresWithoutPause)
    #expect(pauses.reduce(0, +) < 60_000)
  }

  /// A server that ends each connection after some requests is asked again without pauses, 64 times at most.
  @Test func connectionThatServedIsReplacedAtOnce() {
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
