/// A version of HTTP that a test of loading runs over.
package enum WireVersion: String, Sendable, CaseIterable {
  case http1 = "HTTP/1.1"
  case http2 = "HTTP/2"

  /// What the test that is running runs over.
  @TaskLocal package static var current = WireVersion.http1

  /// HTTP/1.1 is plain; HTTP/2 is what TLS agrees on.
  package func tls() throws -> ServerTLS? {
    guard self == .http2 else { return nil }
    var tls = try ServerTLS.localhost()
    tls.applicationProtocols = ["h2", "http/1.1"]
    return tls
  }
}
