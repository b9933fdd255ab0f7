import NIOCore
import SystemServices

/// Why the transport could not do what it was asked. The loading system maps these to `URLError` codes in one table.
package enum TransportError: Error {
  /// The name has no address.
  case hostNotFound(host: String, reason: String)
  /// No address of the host took the connection.
  case cannotConnect(host: String, port: Int, reason: String)
  /// No program serves the socket of this machine, or not this one.
  case cannotConnectToSocket(path: String, reason: String)
  /// There is no route to any network.
  case networkUnreachable
  /// There is a network, and it must not be used because it is this.
  case networkForbidden(NetworkTraits)
  /// The proxy on the way does not work, or does not let us through.
  case proxyFailed(ProxyFailure)
  /// The name must be resolved with proof, and can't be.
  case unprovenName(host: String, reason: String)
  /// The TLS handshake failed.
  case tlsHandshakeFailed(TLSFailure)
  /// The client of the handshake refused the connection, for a reason of its own.
  case refused(any Error)
  /// The connection ended before the first byte of a response. `wasReused` says that it had served before, so
  /// that the server may just have closed it for being idle.
  case closedBeforeResponse(wasReused: Bool)
  /// The connection ended in the middle of a message.
  case connectionLost(reason: String)
  /// The server agreed on HTTP/2 or HTTP/3 and never sent its SETTINGS. It may have acted upon the request.
  case noSettings
  /// The response is not HTTP, or its framing contradicts itself.
  case malformedResponse(reason: String)
  /// A response head, a trailer section or a chunk header beyond the limits.
  case responseTooLarge(reason: String)
  /// The request itself can't be put on the wire.
  case invalidRequest(reason: String)
  /// The server said that it did not act upon the request (RFC 9113 §6.8, §8.7): any request may be sent again.
  case notProcessed(reason: String, because: Refusal = .unwilling)
  /// The server answers this request over HTTP/1.1 only (RFC 9113 §7).
  case requiresHTTP1
  /// The session was invalidated.
  case shutDown

  package enum Refusal: Sendable, Equatable {
    /// It does not want the request now.
    case unwilling
    /// The connection ends, which says nothing about the next one. `hasServed` when a response came on it before.
    case leaving(hasServed: Bool)
  }

  package enum TLSFailure: Sendable, Equatable {
    case untrustedRoot
    case expired
    case notYetValid
    case wrongHost
    case clientCertificateRequired
    case clientCertificateRejected
    /// The library or the socket ended the handshake.
    case library(TLSLibraryFailure)
    /// A reason of our own, as part of a sentence.
    case other(String)
  }
}
