import HTTPSemantics
import Testing

@Suite struct ResumeValidatorTests {
  static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
  static let secondLater = "Sun, 06 Nov 1994 08:49:38 GMT"
  static let receivedAt: Int64 = 784_111_777

  static let cases: [(HTTPFields, String?)] = [
    (["ETag": "\"a\""], "\"a\""), (["ETag": "\"\""], "\"\""),
    (["ETag": "\"a\"", "Last-Modified": modified], "\"a\""),
    // RFC 9110 §13.1.5: never a weak tag
    (["ETag": "W/\"a\""], nil),
    (["ETag": "W/\"a\"", "Last-Modified": modified, "Date": secondLater], modified),
    (["ETag": "unquoted", "Last-Modified": modified, "Date": secondLater], modified), (["ETag": "unquoted"], nil),
    (["ETag": "\"a\"b\""], nil), (["ETag": "\""], nil), (["ETag": "w/\"a\""], nil),
    // RFC 9110 §8.8.2.2: a date of the same second may name two states
    (["Last-Modified": modified, "Date": secondLater], modified),
    (["Last-Modified": modified, "Date": modified], nil),
    (["Last-Modified": secondLater, "Date": modified], nil), (["Last-Modified": "yesterday", "Date": modified], nil),
    // without Date, the time of receipt
    (["Last-Modified": modified], nil),
    (["Last-Modified": "Sun, 06 Nov 1994 08:49:36 GMT"], "Sun, 06 Nov 1994 08:49:36 GMT"),
    // no ranges, no resuming
    (["ETag": "\"a\"", "Accept-Ranges": "none"], nil), (["ETag": "\"a\"", "Accept-Ranges": "bytes"], "\"a\""),
    (["ETag": "\"a\"", "Content-Encoding": "gzip"], nil),
    (["ETag": "\"a\"", "Content-Encoding": "identity"], "\"a\""),
    ([:], nil),
  ]

  @Test(arguments: cases)
  func conditions(_ fields: HTTPFields, condition: String?) {
    #expect(ResumeValidator(fields: fields, receivedAt: Self.receivedAt)?.condition == condition)
  }

  @Test func aStoredValueCannotInject() {
    let validator = ResumeValidator(lastModified: "x\r\nEvil: y", isLastModifiedStrong: true)
    #expect(validator.condition == nil)
    #expect(ResumeValidator(entityTag: "\"a\r\nEvil: y\"").condition == nil)
  }
}
