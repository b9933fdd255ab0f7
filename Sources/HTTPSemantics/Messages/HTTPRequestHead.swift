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
  /// Whether the request may be sent before a handshake is complete, where another can send it once more (RFC 8470 §3).
  package var mayBeEarlyData = false

  package init(method: String, target: String, authority: String, scheme: String, fields: HTTPFields = HTTPFields()) {
    self.method = method
    self.target = target
    self.authority = authority
    self.scheme = scheme
    self.fields = fields
  }
}
