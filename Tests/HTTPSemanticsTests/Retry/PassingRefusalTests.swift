import HTTPSemantics
import Testing

@Suite struct PassingRefusalTests {
  static let now: Int64 = 784_111_777  // Sun, 06 Nov 1994 08:49:37 GMT

  @Test(
    arguments: [
      (408, nil, nil), (429, "120", 120), (500, nil, nil), (502, "soon", nil), (503, "1", 30), (504, "90000", 86_400),
      (503, "Sun, 06 Nov 1994 08:51:37 GMT", 120), (599, "0", 30),
    ] as [(Int, String?, Int64?)])
  func aServerThatCannotServeNowSaysHowLongToWait(status: Int, field: String?, wait: Int64?) throws {
    var fields = HTTPFields()
    if let field { fields.append("Retry-After", field) }
    let refusal = try #require(PassingRefusal(status: status, fields: fields, now: Self.now))
    #expect(refusal.status == status)
    #expect(refusal.wait == wait)
  }

  @Test(arguments: [200, 206, 304, 400, 401, 403, 404, 407, 410, 412, 416, 421, 428, 451, 600])
  func otherAnswersSaySomethingAboutTheResource(status: Int) {
    #expect(PassingRefusal(status: status, fields: HTTPFields(["Retry-After": "60"]), now: Self.now) == nil)
  }
}
