import Foundation

/// A response head: what the app rebuilds its `HTTPURLResponse` from.
package struct ResponseSummary: Codable, Sendable, Equatable {
  package var url: String
  package var status: Int
  /// `HTTP/1.1`.
  package var version: String
  package var headers: [HeaderField]
  /// The length of the whole resource; -1 when it is not known.
  package var expectedContentLength: Int64
  /// The media type that the loader settled; nil when it is the declared one.
  package var mimeType: String?
  /// In the transfer service's queue: the headers, which `headers` is without. nil in messages.
  package var sealedHeaders: Data?

  package init(
    url: String, status: Int, version: String = "HTTP/1.1", headers: [HeaderField] = [],
    expectedContentLength: Int64 = -1
  ) {
    self.url = url
    self.status = status
    self.version = version
    self.headers = headers
    self.expectedContentLength = expectedContentLength
  }
}
