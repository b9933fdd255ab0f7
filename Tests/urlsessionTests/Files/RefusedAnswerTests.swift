import Testing

@testable import urlsession

struct RefusedAnswerTests {
  @Test(
    arguments: [
      (200, nil, 5), (203, nil, 5), (204, nil, 0),
      // The whole in one part.
      (206, "bytes 0-4999/5000", 5000),
      // Files that were continued.
      (206, "bytes 4000-4999/5000", 5000), (206, "bytes 1000-1999/5000", 5000), (206, "bytes 4000-4999/*", 5000),
      (206, "bytes 1000-1999/*", 5000),
    ] as [(Int, String?, Int64)]) func theWholeFileIsTaken(_ status: Int, _ range: String?, _ length: Int64)
  {
    #expect(RefusedAnswer(status: status, contentRange: range, length: length, asksForRange: false) == nil)
  }

  @Test(
    arguments: [
      nil, "", "bytes */5000", "bytes 4000-4999/5000", "bytes 0-999/5000", "bytes 0-999/*", "bytes 4000-4999/*",
      "bytes 4000-4999/1000", "pages 0-999/1000",
    ] as [String?]) func aPartIsTakenOnlyWhereOneWasAskedFor(_ range: String?)
  {
    #expect(RefusedAnswer(status: 206, contentRange: range, length: 1000, asksForRange: false) == .part)
    #expect(RefusedAnswer(status: 206, contentRange: range, length: nil, asksForRange: false) == .part)
    #expect(RefusedAnswer(status: 206, contentRange: range, length: 1000, asksForRange: true) == nil)
  }

  @Test(arguments: [100, 199, 300, 302, 304, 399, 400, 404, 500, 600], [false, true])
  func otherStatusesThanSuccessAreRefused(_ status: Int, _ asksForRange: Bool) {
    let range = "bytes 0-999/1000"
    #expect(
      RefusedAnswer(status: status, contentRange: range, length: 1000, asksForRange: asksForRange) == .status(status))
  }
}
