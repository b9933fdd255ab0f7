import Foundation

/// Starts Apache httpd with the event MPM: keep-alive, ranges, ETags, mod_deflate for text, and whatever a test adds.
package enum Apache {
  /// - Parameters:
  ///   - tls: Certificate for HTTPS on a second port; nil serves plain HTTP only.
  ///   - documentRoot: Folder to serve; nil makes an empty one, see ``RealServer/documentRoot``. Started by root, Apache
  ///     serves as `www-data`, who must be able to read it.
  ///   - modules: Further modules to load, by name: `auth_digest`, `proxy`.
  ///   - extra: Directives at server level, after the modules.
  ///   - environment: Variables that it has besides.
  ///   - realm: The realm of ``KerberosRealm/directives(for:)`` among `extra`.
  package static func start(
    tls: TLSFiles? = nil, documentRoot: String? = nil, modules: [String] = [], extra: String = "",
    environment: [String: String] = [:], realm: KerberosRealm? = nil
  ) async throws -> RealServer {
    try await RealServer.start(
      .apache, tls: tls, documentRoot: documentRoot,
      environment: environment.merging(realm?.environment ?? [:]) { $1 }
    ) { site in
      let modules = modules + (realm == nil ? [] : ["authz_user", "auth_gssapi"])
      try site.folder.write(configuration(site, modules: modules, extra: extra), to: "apache.conf")
      return ["-D", "FOREGROUND", "-d", site.folder.path, "-f", site.folder.file("apache.conf")]
    }
  }

  private static func configuration(_ site: RealServer.Site, modules: [String], extra: String) -> String {
    let basic = ["mpm_event", "authz_core", "authn_core", "dir", "mime", "filter", "deflate", "headers", "alias"]
    let secure = site.tls == nil ? [] : ["socache_shmcb", "ssl"]
    let load = (basic + secure + modules).map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
    var listen = "Listen 127.0.0.1:\(site.port)"
    if let tls = site.tls, let port = site.securePort {
      listen += """

        Listen 127.0.0.1:\(port)
        <VirtualHost 127.0.0.1:\(port)>
          SSLEngine on
          SSLCertificateFile "\(tls.certificateFile)"
          SSLCertificateKeyFile "\(tls.keyFile)"
          SSLProtocol -all +TLSv1.2 +TLSv1.3
        </VirtualHost>
        """
    }
    return """
      \(load.joined(separator: "\n"))
      ServerName localhost
      \(getuid() == 0 ? "User www-data\nGroup www-data" : "")
      PidFile "\(site.folder.file("apache.pid"))"
      DefaultRuntimeDir "\(site.folder.path)"
      ErrorLog "\(site.folder.file("error.log"))"
      LogFormat "%h %l %u %t \\"%r\\" %>s %b" common
      CustomLog "\(site.folder.file("access.log"))" common
      StartServers 1
      ServerLimit 2
      ThreadsPerChild 32
      MaxRequestWorkers 64
      KeepAlive On
      MaxKeepAliveRequests 0
      KeepAliveTimeout 60
      DocumentRoot "\(site.documentRoot)"
      <Directory "\(site.documentRoot)">
        Require all granted
      </Directory>
      TypesConfig /dev/null
      AddType text/html html
      AddType text/plain txt
      AddType text/css css
      AddType application/json json
      AddOutputFilterByType DEFLATE text/html text/plain text/css application/json
      \(listen)
      \(extra)

      """
  }
}
