import Foundation

/// Starts nghttpx as a forward proxy that speaks HTTP/2 over TLS, on the second port, and passes everything on to another
/// proxy.
package enum Nghttpx {
  package static let installed = InstalledServer(program: "nghttpx", package: "nghttp2-proxy")

  /// One request as the proxy logs it.
  package struct Entry: Sendable, Equatable {
    /// The port of the client, which names its connection.
    package let port: String
    /// `h2` or `http/1.1`.
    package let version: String
    package let method: String
  }

  /// - Parameters:
  ///   - tls: The proxy's certificate.
  ///   - proxy: The proxy that gets the requests, on its plain port.
  ///   - streams: How many streams it takes on a connection.
  package static func start(
    tls: TLSFiles, inFrontOf proxy: RealServer, streams: Int = 100
  ) async throws -> RealServer {
    let backend = proxy.port
    return try await RealServer.start(installed, tls: tls, documentRoot: nil) { site in
      [
        "--conf=/dev/null", "--http2-proxy", "--single-process", "--frontend=127.0.0.1,\(site.securePort ?? 0)",
        "--frontend=127.0.0.1,\(site.port);no-tls", "--backend=127.0.0.1,\(backend)",
        "--frontend-http2-max-concurrent-streams=\(streams)", "--accesslog-file=\(site.folder.file("access.log"))",
        "--accesslog-format=$remote_port $alpn $method", "--errorlog-file=\(site.folder.file("error.log"))",
        tls.keyFile, tls.certificateFile,
      ]
    }
  }

  /// The requests that have ended so far.
  package static func log(of server: RealServer) -> [Entry] {
    server.accessLog.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ").map { String($0) }
      return words.count == 3 ? Entry(port: words[0], version: words[1], method: words[2]) : nil
    }
  }
}
