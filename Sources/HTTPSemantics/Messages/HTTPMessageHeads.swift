/// The version of HTTP that a message was sent in.
package struct HTTPVersion: Sendable, Hashable, Comparable {
  package var major: Int
  package var minor: Int

  package init(major: Int, minor: Int) {
    self.major = major
    self.minor = minor
  }

  package static let http10 = HTTPVersion(major: 1, minor: 0)
  package static let http11 = HTTPVersion(major: 1, minor: 1)
  package static let http2 = HTTPVersion(major: 2, minor: 0)

  package static func < (left: HTTPVersion, right: HTTPVersion) -> Bool {
    (left.major, left.minor) < (right.major, right.minor)
  }
}

/// The first line and the header fields of a request, before any version's framing is applied.
package struct HTTPRequestHead: Sendable, Equatable {
  package var method: String
  /// The target on the request line: `/path?query`, an absolute URL towards a proxy, or `*`.
  package var target: String
  /// The value of Host or `:authority`: host, and port unless it is the scheme's default.
  package var authority: String
  /// `http` or `https`.
  package var scheme: String
  package var fields: HTTPFields
  /// The protocol of the stream after an extended CONNECT (RFC 8441 §4); nil for every other request.
  package var connectProtocol: String?

  package init(method: String, target: String, authority: String, scheme: String, fields: HTTPFields = HTTPFields()) {
    self.method = method
    self.target = target
    self.authority = authority
    self.scheme = scheme
    self.fields = fields
  }
}

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
