import Foundation

/// Starts HAProxy in front of another server. With TLS it speaks HTTP/2, and takes WebSockets in streams of it (RFC 8441),
/// which it passes on as upgrades of HTTP/1.1.
package enum HAProxy {
  package static let installed = InstalledServer(program: "haproxy", package: "haproxy")

  /// - Parameters:
  ///   - tls: Certificate for the second port, where `h2` and `http/1.1` are offered.
  ///   - server: Who gets the requests, on its plain port.
  package static func start(tls: TLSFiles, inFrontOf server: RealServer) async throws -> RealServer {
    let backend = server.port
    return try await RealServer.start(installed, tls: tls, documentRoot: nil) { site in
      let certificate = try String(contentsOfFile: tls.certificateFile, encoding: .utf8)
      let key = try String(contentsOfFile: tls.keyFile, encoding: .utf8)
      try site.folder.write(certificate + "\n" + key, to: "both.pem")
      try site.folder.write(
        """
        global
          nbthread 1
          log stdout format raw local0 warning
        defaults
          mode http
          timeout connect 10s
          timeout client 60s
          timeout server 60s
          timeout tunnel 60s
        frontend front
          bind 127.0.0.1:\(site.port)
          bind 127.0.0.1:\(site.securePort ?? 0) ssl crt \(site.folder.file("both.pem")) alpn h2,http/1.1
          default_backend back
        backend back
          server one 127.0.0.1:\(backend)

        """, to: "haproxy.cfg")
      return ["-db", "-f", site.folder.file("haproxy.cfg")]
    }
  }
}
