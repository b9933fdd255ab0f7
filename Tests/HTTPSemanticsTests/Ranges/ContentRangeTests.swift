import HTTPSemantics
import Testing

@Suite struct ContentRangeTests {
  @Test(
    arguments: [
      // RFC 9110 §14.4
      ("bytes 42-1233/1234", .part(first: 42, last: 1233, total: 1234)),
      ("bytes 42-1233/*", .part(first: 42, last: 1233, total: nil)), ("bytes */1234", .unsatisfied(total: 1234)),
      (" Bytes  0-0/1 ", .part(first: 0, last: 0, total: 1)), ("bytes */0", .unsatisfied(total: 0)),
      (
        "bytes 9223372036854775805-9223372036854775806/9223372036854775807",
        .part(first: .max - 2, last: .max - 1, total: .max)
      ),
      ("", nil), ("bytes", nil), ("bytes ", nil), ("bytes 0-1", nil), ("bytes 1-0/2", nil), ("bytes 0-2/2", nil),
      ("bytes -1/2", nil), ("bytes 0-/2", nil), ("bytes */*", nil), ("bytes 0-1/2/3", nil), ("bytes 0-1-2/3", nil),
      ("bytes=0-1/2", nil), ("items 0-1/2", nil), ("bytes 0-1/", nil), ("bytes +0-1/2", nil), ("bytes 0 -1/2", nil),
      ("bytes 0-9223372036854775807/*", nil), ("bytes 0-9223372036854775808/*", nil),
      ("bytes 0-1/9223372036854775808", nil), ("bytes 0x0-1/2", nil),
    ] as [(String, ContentRange?)])
  func parses(_ value: String, range: ContentRange?) {
    #expect(ContentRange(parsing: value) == range)
  }

  @Test func lengths() {
    #expect(ContentRange.part(first: 42, last: 1233, total: nil).length == 1192)
    #expect(ContentRange.part(first: 0, last: .max - 1, total: nil).length == .max)
    #expect(ContentRange.unsatisfied(total: 5).length == nil)
  }
}
