import Foundation

/// Starts vsftpd: anonymous users may read, and write where it is said.
package enum Vsftpd {
  package static let installed = InstalledServer(program: "vsftpd", package: "vsftpd")

  /// Serves the folder ``RealServer/documentRoot`` on 127.0.0.1. The access log has every command and reply.
  ///
  /// How the connections are protected. The server wants data connections to resume the TLS session of theirs.
  package enum Security: Sendable {
    /// After AUTH TLS, without which no user is let in.
    case explicit(TLSFiles)
    case implicit(TLSFiles)

    fileprivate var isImplicit: Bool { if case .implicit = self { true } else { false } }

    fileprivate var files: TLSFiles {
      switch self {
      case .explicit(let files), .implicit(let files): files
      }
    }
  }

  /// - Parameters:
  ///   - password: The only one that the anonymous user is let in with; nil: any.
  ///   - takesFiles: Whether files may be made, replaced and appended to in folders that allow it.
  package static func start(
    password: String? = nil, takesFiles: Bool = false, security: Security? = nil
  ) async throws -> RealServer {
    try await RealServer.start(installed, tls: nil, documentRoot: nil) { site in
      let file = site.folder.file("vsftpd.conf")
      try site.folder.write((password ?? "") + "\n", to: "passwords")
      try site.folder.write(
        """
        listen=YES
        listen_address=127.0.0.1
        listen_port=\(site.port)
        background=NO
        run_as_launching_user=YES
        anonymous_enable=YES
        local_enable=NO
        write_enable=\(takesFiles ? "YES" : "NO")
        anon_upload_enable=\(takesFiles ? "YES" : "NO")
        anon_other_write_enable=\(takesFiles ? "YES" : "NO")
        anon_umask=022
        allow_writeable_chroot=YES
        \(settings(security))
        anon_root=\(site.documentRoot)
        secure_email_list_enable=\(password == nil ? "NO" : "YES")
        email_password_file=\(site.folder.file("passwords"))
        secure_chroot_dir=\(try site.folder.makeFolder("empty"))
        seccomp_sandbox=NO
        isolate=NO
        isolate_network=NO
        xferlog_enable=YES
        xferlog_std_format=NO
        log_ftp_protocol=YES
        vsftpd_log_file=\(site.folder.file("access.log"))

        """, to: "vsftpd.conf")
      return [file]
    }
  }

  private static func settings(_ security: Security?) -> String {
    guard let security else { return "ssl_enable=NO" }
    return """
      ssl_enable=YES
      allow_anon_ssl=YES
      force_anon_logins_ssl=YES
      force_anon_data_ssl=YES
      ssl_tlsv1=YES
      ssl_sslv2=NO
      ssl_sslv3=NO
      require_ssl_reuse=YES
      ssl_ciphers=HIGH
      implicit_ssl=\(security.isImplicit ? "YES" : "NO")
      rsa_cert_file=\(security.files.certificateFile)
      rsa_private_key_file=\(security.files.keyFile)
      """
  }
}

extension RealServer {
  /// The ftp URL of `path`, which begins with `/`.
  package func ftpURL(_ path: String = "/") -> URL { url(scheme: "ftp", host: "127.0.0.1", port: port, path: path) }

  /// The same by the name that certificates are for; `isImplicit`: with TLS from the beginning.
  package func secureFTPURL(_ path: String = "/", isImplicit: Bool = false) -> URL {
    url(scheme: isImplicit ? "ftps" : "ftp", host: "localhost", port: port, path: path)
  }
}
