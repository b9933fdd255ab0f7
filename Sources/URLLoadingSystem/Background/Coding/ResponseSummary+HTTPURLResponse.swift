import Foundation
import HTTPSemantics
import TransferProtocol

extension ResponseSummary {
  /// - Parameter expectedContentLength: of the whole resource, where a part of it is received.
  package init(_ response: HTTPURLResponse, expectedContentLength: Int64? = nil) {
    self.init(
      url: response.url, head: response.head,
      expectedContentLength: expectedContentLength ?? response.expectedContentLength)
    // A type that is settled otherwise than by the head, such as by the first bytes.
    let declared = HTTPURLResponse(url: response.url, head: response.head).mimeType
    mimeType = response.mimeType == declared ? nil : response.mimeType
  }

  package init(url: URL?, head: HTTPResponseHead, expectedContentLength: Int64) {
    self.init(
      url: url?.absoluteString ?? "", status: head.status,
      version: "HTTP/\(head.version.major).\(head.version.minor)", headers: [HeaderField](head.fields),
      expectedContentLength: expectedContentLength)
  }

  /// The response as the app sees it.
  package var urlResponse: HTTPURLResponse {
    let digits = version.utf8.filter { (0x30...0x39).contains($0) }.map { Int($0) - 0x30 }
    let head = HTTPResponseHead(
      version: digits.count == 2 ? HTTPVersion(major: digits[0], minor: digits[1]) : .http11, status: status,
      fields: HTTPFields(headers))
    return HTTPURLResponse(url: URL(string: url), head: head, mimeType: mimeType)
  }
}
