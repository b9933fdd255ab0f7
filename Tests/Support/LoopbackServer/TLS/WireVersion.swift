/// A version of HTTP that a test of loading runs over.
package enum WireVersion: String, Sendable {
  case http1 = "HTTP/1.1"
  case http2 = "HTTP/2"
  case http3 = "HTTP/3"

  package static let overTCP = [WireVersion.http1, .http2]

  /// What the test that is running runs over.
  @TaskLocal package static var current = WireVersion.http1

  /// HTTP/1.1 is plain; HTTP/2 is what TLS agrees on. Over HTTP/3 the server sees what its front makes of it, HTTP/2.
  package func tls() throws -> ServerTLS? {
    guard self != .http1 else { return nil }
    var tls = try ServerTLS.localhost()
    tls.applicationProtocols = ["h2", "http/1.1"]
    tls.isBehindHTTP3 = self == .http3
    return tls
  }
}
