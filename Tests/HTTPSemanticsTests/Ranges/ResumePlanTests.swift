import HTTPSemantics
import Testing

@Suite struct ResumePlanTests {
  static let tagged = ResumeValidator(entityTag: "\"v1\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")

  @Test func asksForTheRest() {
    #expect(
      ResumePlan.requestFields(offset: 100, validator: Self.tagged)
        == ["Accept-Encoding": "identity", "Range": "bytes=100-", "If-Range": "\"v1\""])
    let whole: HTTPFields = ["Accept-Encoding": "identity"]
    #expect(ResumePlan.requestFields(offset: 0, validator: Self.tagged) == whole)
    #expect(ResumePlan.requestFields(offset: -1, validator: Self.tagged) == whole)
    #expect(ResumePlan.requestFields(offset: 100, validator: nil) == whole)
    #expect(ResumePlan.requestFields(offset: 100, validator: ResumeValidator(entityTag: "W/\"v1\"")) == whole)
  }

  struct Answer: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var status = 206
    var fields: HTTPFields = [:]
    var validator: ResumeValidator? = ResumePlanTests.tagged
    var total: Int64? = 1_000
    var outcome: ResumePlan.Outcome
  }

  /// All of them to a request for what follows the first 100 bytes.
  static let answers: [Answer] = [
    Answer(
      testDescription: "the rest",
      fields: ["Content-Range": "bytes 100-999/1000", "Content-Length": "900", "ETag": "\"v1\""],
      outcome: .resume(at: 100, upTo: 1_000, total: 1_000)),
    Answer(
      testDescription: "a part of the rest", fields: ["Content-Range": "bytes 100-199/1000"],
      outcome: .resume(at: 100, upTo: 200, total: 1_000)),
    Answer(
      testDescription: "total unknown now", fields: ["Content-Range": "bytes 100-999/*"],
      outcome: .resume(at: 100, upTo: 1_000, total: 1_000)),
    Answer(
      testDescription: "total never known", fields: ["Content-Range": "bytes 100-999/*"], total: nil,
      outcome: .resume(at: 100, upTo: 1_000, total: nil)),
    Answer(
      testDescription: "total known first now", fields: ["Content-Range": "bytes 100-999/1000"], total: nil,
      outcome: .resume(at: 100, upTo: 1_000, total: 1_000)),
    Answer(
      testDescription: "grown, without saying so", fields: ["Content-Range": "bytes 100-1000/*"],
      outcome: .mismatch(.differentTotal)),
    Answer(testDescription: "no Content-Range", outcome: .mismatch(.unreadableRange)),
    Answer(
      testDescription: "garbled", fields: ["Content-Range": "bytes 100-"], outcome: .mismatch(.unreadableRange)),
    Answer(
      testDescription: "an unsatisfied range in 206", fields: ["Content-Range": "bytes */1000"],
      outcome: .mismatch(.unreadableRange)),
    Answer(
      testDescription: "two ranges",
      fields: ["Content-Range": "bytes 100-999/1000", "content-range": "bytes 0-9/1000"],
      outcome: .mismatch(.unreadableRange)),
    Answer(
      testDescription: "several parts", fields: ["Content-Type": "multipart/byteranges; boundary=x"],
      outcome: .mismatch(.severalParts)),
    Answer(
      testDescription: "from zero", fields: ["Content-Range": "bytes 0-999/1000"], outcome: .mismatch(.differentStart)),
    Answer(
      testDescription: "later", fields: ["Content-Range": "bytes 101-999/1000"], outcome: .mismatch(.differentStart)),
    Answer(
      testDescription: "grown", fields: ["Content-Range": "bytes 100-1999/2000"], outcome: .mismatch(.differentTotal)),
    Answer(
      testDescription: "another length", fields: ["Content-Range": "bytes 100-999/1000", "Content-Length": "1000"],
      outcome: .mismatch(.differentLength)),
    Answer(
      testDescription: "another tag", fields: ["Content-Range": "bytes 100-999/1000", "ETag": "\"v2\""],
      outcome: .mismatch(.differentEntity)),
    Answer(
      testDescription: "the tag, but weak", fields: ["Content-Range": "bytes 100-999/1000", "ETag": "W/\"v1\""],
      outcome: .mismatch(.differentEntity)),
    Answer(
      testDescription: "another date, no tag",
      fields: ["Content-Range": "bytes 100-999/1000", "Last-Modified": "Mon, 07 Nov 1994 08:49:37 GMT"],
      outcome: .mismatch(.differentDate)),
    Answer(
      testDescription: "the same tag, another date",
      fields: [
        "Content-Range": "bytes 100-999/1000", "ETag": "\"v1\"", "Last-Modified": "Mon, 07 Nov 1994 08:49:37 GMT",
      ], outcome: .resume(at: 100, upTo: 1_000, total: 1_000)),
    Answer(
      testDescription: "compressed", fields: ["Content-Range": "bytes 100-999/1000", "Content-Encoding": "gzip"],
      outcome: .mismatch(.coded)),
    Answer(testDescription: "whole", status: 200, fields: ["ETag": "\"v2\""], outcome: .restart),
    Answer(testDescription: "whole, by a proxy", status: 203, outcome: .restart),
    Answer(testDescription: "changed", status: 412, outcome: .mismatch(.preconditionFailed)),
    Answer(
      testDescription: "complete", status: 416, fields: ["Content-Range": "bytes */100"], total: nil,
      outcome: .alreadyComplete),
    Answer(testDescription: "complete, by what was known", status: 416, total: 100, outcome: .alreadyComplete),
    Answer(
      testDescription: "complete, but another", status: 416,
      fields: ["Content-Range": "bytes */100", "ETag": "\"v2\""], total: 100, outcome: .mismatch(.differentEntity)),
    Answer(
      testDescription: "shrunk", status: 416, fields: ["Content-Range": "bytes */50"], total: nil,
      outcome: .mismatch(.rangeNotSatisfiable)),
    Answer(
      testDescription: "shrunk to the offset", status: 416, fields: ["Content-Range": "bytes */100"],
      outcome: .mismatch(.differentTotal)),
    Answer(
      testDescription: "416 with a part", status: 416, fields: ["Content-Range": "bytes 0-1/2"],
      outcome: .mismatch(.unreadableRange)),
    Answer(testDescription: "416 and nothing", status: 416, total: nil, outcome: .mismatch(.rangeNotSatisfiable)),
    Answer(testDescription: "not found", status: 404, outcome: .unrelated),
    Answer(testDescription: "unavailable", status: 503, outcome: .unrelated),
    Answer(testDescription: "moved", status: 302, outcome: .unrelated),
    Answer(testDescription: "empty", status: 204, outcome: .unrelated),
  ]

  @Test(arguments: answers)
  func reads(_ answer: Answer) {
    let outcome = ResumePlan.outcome(
      status: answer.status, fields: answer.fields, offset: 100, validator: answer.validator, total: answer.total)
    #expect(outcome == answer.outcome)
  }

  @Test func everyMismatchHasItsSentence() {
    let all = ResumePlan.Mismatch.allCases
    #expect(Set(all.map(\.sentence)).count == all.count)
  }
}
