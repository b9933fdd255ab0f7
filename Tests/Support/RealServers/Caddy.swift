import Foundation

/// Starts Caddy, which serves its files over HTTP/1.1, HTTP/2 and HTTP/3 on one port, for `localhost` and `127.0.0.1`, and
/// announces HTTP/3 by Alt-Svc.
package enum Caddy {
  /// - Parameters:
  ///   - protocols: As Caddy names them, such as `h1 h2 h3`.
  ///   - backend: The port of a server of plain HTTP on 127.0.0.1 that gets the requests below `/backend/`; nil for none.
  ///   - clientCertificates: How clients are asked for a certificate, as Caddy has it; nil for not at all.
  package static func start(
    tls: TLSFiles, protocols: String = "h1 h2 h3", backend: Int? = nil, clientCertificates: String? = nil
  ) async throws -> RealServer {
    // It keeps its last configuration there, whether one likes it or not.
    let configurations = FileManager.default.temporaryDirectory.appending(path: "caddy-configurations").path
    return try await RealServer.start(
      .caddy, tls: tls, documentRoot: nil, environment: ["XDG_CONFIG_HOME": configurations],
      takesDatagrams: protocols.contains("h3")
    ) { site in
      let proxy = backend.map { "reverse_proxy /backend/* 127.0.0.1:\($0)" } ?? ""
      try site.folder.write(
        """
        {
          admin off
          auto_https off
          storage file_system \(site.folder.file("storage"))
          servers {
            protocols \(protocols)
            # Over HTTP/3 it knows no server name to compare, and would answer 421 where it asks for certificates.
            strict_sni_host insecure_off
          }
        }
        http://127.0.0.1:\(site.port) {
          respond "ready"
        }
        https://localhost:\(site.securePort ?? 0), https://127.0.0.1:\(site.securePort ?? 0) {
          tls \(tls.certificateFile) \(tls.keyFile) {
            \(clientCertificates.map { "client_auth {\n\($0)\n}" } ?? "")
          }
          root * \(site.documentRoot)
          redir /old /text.txt 302
          \(proxy)
          file_server
        }

        """, to: "Caddyfile")
      return ["run", "--adapter", "caddyfile", "--config", site.folder.file("Caddyfile")]
    }
  }
}
