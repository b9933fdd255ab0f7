/// The server broke a rule after which nothing on the connection can be trusted (RFC 9113 §5.4.1).
package struct HTTP2ConnectionError: Error, Equatable {
  /// The code in our GOAWAY.
  package let code: HTTP2ErrorCode
  package let reason: String

  package init(_ code: HTTP2ErrorCode, _ reason: String) {
    self.code = code
    self.reason = reason
  }
}
