/// The status line and the header fields of a response.
package struct HTTPResponseHead: Sendable, Equatable {
  package var version: HTTPVersion
  package var status: Int
  package var reason: String
  package var fields: HTTPFields

  package init(version: HTTPVersion = .http11, status: Int, reason: String = "", fields: HTTPFields = HTTPFields()) {
    self.version = version
    self.status = status
    self.reason = reason
    self.fields = fields
  }

  /// RFC 9110 §15.2: an interim response; the final one follows.
  package var isInformational: Bool { (100..<200).contains(status) }
}
