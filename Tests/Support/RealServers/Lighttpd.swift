import Foundation

/// Starts lighttpd, which asks for Digest with SHA-256: Apache knows MD5 alone.
package enum Lighttpd {
  /// - Parameters:
  ///   - users: Lines as `htdigest` writes them, with the hash of `algorithm`: `name:realm:H(name:realm:password)`.
  ///   - realm: Of everything that it serves.
  ///   - algorithm: `MD5` or `SHA-256`.
  package static func start(
    users: [String], realm: String, algorithm: String = "SHA-256"
  ) async throws -> RealServer {
    try await RealServer.start(.lighttpd, tls: nil, documentRoot: nil) { site in
      try site.folder.write(users.map { $0 + "\n" }.joined(), to: "users")
      try site.folder.write(
        """
        server.document-root = "\(site.documentRoot)"
        server.bind = "127.0.0.1"
        server.port = \(site.port)
        server.modules = ( "mod_auth", "mod_authn_file", "mod_accesslog" )
        server.errorlog = "\(site.folder.file("error.log"))"
        accesslog.filename = "\(site.folder.file("access.log"))"
        mimetype.assign = ( ".txt" => "text/plain" )
        auth.backend = "htdigest"
        auth.backend.htdigest.userfile = "\(site.folder.file("users"))"
        auth.require = ( "/" => (
          "method" => "digest", "algorithm" => "\(algorithm)", "realm" => "\(realm)", "require" => "valid-user"
        ) )

        """, to: "lighttpd.conf")
      return ["-D", "-f", site.folder.file("lighttpd.conf")]
    }
  }
}
