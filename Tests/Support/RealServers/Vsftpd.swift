import Foundation

/// Starts vsftpd: anonymous users may read, and no user may write.
package enum Vsftpd {
  package static let installed = InstalledServer(program: "vsftpd", package: "vsftpd")

  /// Serves the folder ``RealServer/documentRoot`` on 127.0.0.1. The access log has every command and reply.
  ///
  /// - Parameter password: The only one that the anonymous user is let in with; nil: any.
  package static func start(password: String? = nil) async throws -> RealServer {
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
        write_enable=NO
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
}

extension RealServer {
  /// The ftp URL of `path`, which begins with `/`.
  package func ftpURL(_ path: String = "/") -> URL { url(scheme: "ftp", host: "127.0.0.1", port: port, path: path) }
}
