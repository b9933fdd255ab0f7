import HTTPSemantics
import Testing

@Suite struct HTTPMethodTests {
  @Test(arguments: [
    ("GET", true, true), ("HEAD", true, true), ("OPTIONS", true, true), ("TRACE", true, true),
    ("PUT", false, true), ("DELETE", false, true), ("POST", false, false), ("PATCH", false, false),
    ("CONNECT", false, false), ("get", false, false), ("", false, false), ("PROPFIND", false, false),
  ])
  func promises(_ method: String, _ isSafe: Bool, _ isIdempotent: Bool) {
    #expect(HTTPMethod.isSafe(method) == isSafe)
    #expect(HTTPMethod.isIdempotent(method) == isIdempotent)
  }
}
