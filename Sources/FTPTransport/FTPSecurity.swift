/// How the connections to an FTP server are protected.
package enum FTPSecurity: Hashable, Sendable {
  case none
  /// The client asks for TLS on a connection that begins without it (RFC 4217). A server that refuses is not used.
  case explicit
  /// The connection begins with TLS, as that of an `ftps:` URL.
  case implicit
}
