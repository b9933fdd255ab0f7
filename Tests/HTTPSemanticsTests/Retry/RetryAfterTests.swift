import HTTPSemantics
import Testing

@Suite struct RetryAfterTests {
  static let now: Int64 = 784_111_777  // Sun, 06 Nov 1994 08:49:37 GMT

  @Test(
    arguments: [
      ("0", 0, 30), ("120", 120, 120), (" 120 ", 120, 120), ("29", 29, 30), ("86401", 86_401, 86_400),
      ("99999999999999999999", Int64.max, 86_400), ("Sun, 06 Nov 1994 08:50:37 GMT", 60, 60),
      ("Sun, 06 Nov 1994 08:00:00 GMT", 0, 30), ("Sunday, 06-Nov-94 08:51:37 GMT", 120, 120),
      ("Mon, 06 Nov 2094 08:49:37 GMT", 3_155_760_000, 86_400), ("", nil, nil), ("-5", nil, nil), ("1.5", nil, nil),
      ("soon", nil, nil), ("120 seconds", nil, nil),
    ] as [(String, Int64?, Int64?)])
  func secondsAreParsedAndClamped(_ value: String, seconds: Int64?, clamped: Int64?) {
    #expect(RetryAfter.seconds(value, now: Self.now) == seconds)
    #expect(RetryAfter.clampedSeconds(value, now: Self.now) == clamped)
  }

  @Test func extremeClockDoesNotTrap() {
    #expect(RetryAfter.seconds("Sun, 06 Nov 1994 08:49:37 GMT", now: .min) == nil)
    #expect(RetryAfter.seconds("Sun, 06 Nov 1994 08:49:37 GMT", now: .max) == 0)
  }
}
