import Foundation
import HTTPSemantics
import Testing
import URLLoadingSystem

@Suite struct HTTPURLResponseTests {
  static let url = URL(string: "https://example.com/dir/report?x=1")!

  static func response(_ fields: KeyValuePairs<String, String>, status: Int = 200) -> HTTPURLResponse {
    HTTPURLResponse(url: url, head: HTTPResponseHead(version: .http2, status: status, fields: HTTPFields(fields)))
  }

  @Test(
    arguments: [
      ([:], nil, nil, -1),
      (["Content-Type": "text/HTML; Charset=UTF-8", "Content-Length": "12"], "text/html", "utf-8", 12),
      (
        ["content-type": "application/json", "content-length": "12", "content-encoding": "gzip"], "application/json",
        nil, -1
      ),
      (["Content-Length": "12", "Content-Encoding": "identity"], nil, nil, 12),
      (["Content-Length": "5000000000"], nil, nil, 5_000_000_000),
      (["Content-Length": "12abc"], nil, nil, -1),
      (["Content-Length": "-3"], nil, nil, -1),
      (["Content-Length": "99999999999999999999"], nil, nil, -1),
      (["Content-Type": "nonsense"], nil, nil, -1),
    ] as [(KeyValuePairs<String, String>, String?, String?, Int64)])
  func typeAndLengthComeFromTheHead(
    fields: KeyValuePairs<String, String>, type: String?, charset: String?, length: Int64
  ) {
    let response = HTTPURLResponseTests.response(fields)
    #expect(response.mimeType == type)
    #expect(response.textEncodingName == charset)
    #expect(response.expectedContentLength == length)
  }

  @Test(
    arguments: [
      (["Content-Disposition": "attachment; filename=\"a b.txt\""], "a b.txt"),
      (
        ["Content-Disposition": "attachment; filename=\"../../etc/passwd\"", "Content-Type": "text/plain"],
        "_.._etc_passwd.txt"
      ),
      (["Content-Type": "application/pdf"], "report.pdf"),
      ([:], "report"),
    ] as [(KeyValuePairs<String, String>, String)])
  func suggestsAFileName(fields: KeyValuePairs<String, String>, name: String) {
    #expect(HTTPURLResponseTests.response(fields).suggestedFilename == name)
  }

  @Test func wellKnownNamesAreCanonicalAndRepeatedFieldsJoined() {
    let response = HTTPURLResponseTests.response([
      "content-type": "text/plain", "x-own": "1", "set-cookie": "a=1", "Set-Cookie": "b=2", "etag": "\"e\"",
    ])
    #expect(
      response.allHeaderFields as? [String: String] == [
        "Content-Type": "text/plain", "x-own": "1", "Set-Cookie": "a=1, b=2", "ETag": "\"e\"",
      ])
    #expect(response.value(forHTTPHeaderField: "ETAG") == "\"e\"")
    #expect(response.value(forHTTPHeaderField: "absent") == nil)
  }

  /// RFC 9110 §5.1: names are compared without regard to case.
  @Test func otherNamesKeepTheirFirstSpelling() throws {
    let response = HTTPURLResponseTests.response(["X-A": "1", "x-b": "2", "x-a": "3", "X-B": "4"])
    #expect(response.allHeaderFields as? [String: String] == ["X-A": "1, 3", "x-b": "2, 4"])
  }

  @Test func aMadeUpResponseReadsLikeAReceivedOne() throws {
    let response = try #require(
      HTTPURLResponse(
        url: HTTPURLResponseTests.url, statusCode: 404, httpVersion: "HTTP/1.1",
        headerFields: ["content-length": "7", "Content-Type": "text/plain; charset=latin1"]))
    #expect(response.statusCode == 404)
    #expect(response.expectedContentLength == 7)
    #expect(response.mimeType == "text/plain")
    #expect(response.textEncodingName == "latin1")
    #expect(response.allHeaderFields["Content-Length"] as? String == "7")
    #expect(response.url == HTTPURLResponseTests.url)
  }

  /// Code written for Apple's systems unwraps the response whatever it says of the version.
  @Test(
    arguments: [
      (nil, 1, 1), ("HTTP/1.0", 1, 0), ("HTTP/1.1", 1, 1), ("http/1.1", 1, 1), ("HTTP/2", 2, 0), ("HTTP/2.0", 2, 0),
      ("HTTP/3", 3, 0), ("2.0", 2, 0), ("1.1", 1, 1), ("1.0", 1, 0), ("2", 2, 0), ("", 1, 1), ("HTTP/", 1, 1),
      ("HTTP/1.1.1", 1, 1), ("SPDY", 1, 1), ("HTTP/-1", 1, 1), ("HTTP/2.", 1, 1), (".", 1, 1), ("HTTP/999.0", 1, 1),
      ("HTTP/1.000000000000000000000", 1, 1),
    ] as [(String?, Int, Int)])
  func takesEveryVersion(text: String?, major: Int, minor: Int) throws {
    let response = try #require(
      HTTPURLResponse(url: HTTPURLResponseTests.url, statusCode: 200, httpVersion: text, headerFields: nil))
    #expect(response.head.version == HTTPVersion(major: major, minor: minor))
  }

  @Test(arguments: [(-1, false), (0, true), (200, true), (600, true), (1000, true)])
  func refusesNothingButANegativeStatus(status: Int, isMade: Bool) {
    let response = HTTPURLResponse(
      url: HTTPURLResponseTests.url, statusCode: status, httpVersion: nil, headerFields: nil)
    #expect((response != nil) == isMade)
  }

  @Test func archivesRoundTripAndEqualityLooksAtEverything() throws {
    let response = HTTPURLResponseTests.response(
      ["Set-Cookie": "a", "set-cookie": "b", "Content-Length": "3"], status: 206)
    let data = try NSKeyedArchiver.archivedData(withRootObject: response, requiringSecureCoding: true)
    let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: HTTPURLResponse.self, from: data))
    #expect(restored.isEqual(response))
    #expect(restored.hash == response.hash)
    #expect(restored.head == response.head)
    #expect(!response.isEqual(HTTPURLResponseTests.response(["Content-Length": "3"], status: 206)))
    #expect(
      !response.isEqual(
        URLResponse(url: HTTPURLResponseTests.url, mimeType: nil, expectedContentLength: 3, textEncodingName: nil)))
    #expect(response.copy() as? HTTPURLResponse === response)
  }

  @Test(arguments: [
    (200, "no error"), (404, "not found"), (503, "service unavailable"), (199, "informational"), (299, "success"),
    (399, "redirected"), (499, "client error"), (599, "server error"),
  ])
  func statusCodesHaveWords(status: Int, words: String) {
    #expect(HTTPURLResponse.localizedString(forStatusCode: status) == words)
  }
}

@Suite struct URLResponseTests {
  let url = URL(string: "file:///tmp/a%20b")!

  @Test func isWhatItWasMadeOf() throws {
    let response = URLResponse(url: url, mimeType: "image/png", expectedContentLength: 9, textEncodingName: "utf-8")
    #expect(response.url == url)
    #expect(response.mimeType == "image/png")
    #expect(response.expectedContentLength == 9)
    #expect(response.textEncodingName == "utf-8")
    #expect(response.suggestedFilename == "a b.png")
    let data = try NSKeyedArchiver.archivedData(withRootObject: response, requiringSecureCoding: true)
    let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: URLResponse.self, from: data))
    #expect(restored.isEqual(response))
  }

  @Test func anEmptyResponseIsUnknown() {
    #expect(URLResponse().url == nil)
    #expect(URLResponse().expectedContentLength == NSURLResponseUnknownLength)
    #expect(URLResponse().suggestedFilename == "unknown")
    #expect(HTTPURLResponse().statusCode == 200)
  }
}
