import HTTPSemantics
import Testing

@Suite struct CookieDateTests {
  /// RFC 6265bis §5.1.1.
  @Test(
    arguments: [
      ("Wed, 09 Jun 2021 10:18:14 GMT", 1_623_233_894), ("09-Jun-21 10:18:14", 1_623_233_894),
      ("Wed Jun  9 10:18:14 2021", 1_623_233_894), ("10:18:14 9 june 2021 and more", 1_623_233_894),
      ("Thu, 01-Jan-70 00:00:00 GMT", 0), ("1 Jan 69 0:0:0", 3_124_224_000), ("1 Jan 1601 0:0:0", -11_644_473_600),
      ("29 Feb 2020 1:2:3", 1_582_938_123),
      ("9 Jun 2021", nil), ("9 Jun 10:18:14", nil), ("9 Foo 2021 10:18:14", nil), ("32 Jan 2021 10:18:14", nil),
      ("29 Feb 2021 10:18:14", nil), ("31 Apr 2021 10:18:14", nil), ("9 Jun 2021 24:00:00", nil),
      ("9 Jun 2021 1:60:0", nil),
      ("9 Jun 2021 1:0:60", nil), ("1 Jan 1600 0:0:0", nil), ("", nil), ("0 Jan 2021 1:2:3", nil),
      ("9 Jun 20211 10:18:14", nil),
    ] as [(String, Int64?)])
  func cookieDatesAreParsed(text: String, seconds: Int64?) { #expect(CookieDate.parse(text) == seconds) }
}
