import Foundation
import HTTPSemantics
import Testing
import TransferProtocol

@testable import URLLoadingSystem

@Suite struct ResponseSummaryCodingTests {
  @Test(arguments: [nil, "image/png"], [HTTPVersion.http11, HTTPVersion(major: 2, minor: 0)])
  func aResponseArrivesAsItWas(mimeType: String?, version: HTTPVersion) throws {
    let head = HTTPResponseHead(
      version: version, status: 206,
      fields: HTTPFields([
        .init(name: "content-type", value: "text/html; charset=utf-8"), .init(name: "X-A", value: "1"),
        .init(name: "x-a", value: "2"), .init(name: "Content-Length", value: "5"),
      ]))
    let response = HTTPURLResponse(url: URL(string: "http://example.com/f"), head: head, mimeType: mimeType)
    let encoded = try MessageFraming.encode(ResponseSummary(response))
    let summary = try MessageFraming.decode(ResponseSummary.self, from: encoded)
    #expect(summary.expectedContentLength == 5)
    let decoded = summary.urlResponse
    #expect(decoded == response && decoded.mimeType == mimeType ?? "text/html")
    #expect(decoded.head.version == version && decoded.head.fields.fields == head.fields.fields)
  }
}
