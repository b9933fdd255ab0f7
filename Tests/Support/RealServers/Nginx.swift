import Foundation

/// Starts nginx: keep-alive, ranges, ETags, gzip for text, and whatever a test adds.
package enum Nginx {
  /// - Parameters:
  ///   - tls: Certificate for HTTPS, with HTTP/2, on a second port; nil serves plain HTTP only.
  ///   - documentRoot: Folder to serve; nil makes an empty one, see ``RealServer/documentRoot``. nginx's own user must be
  ///     able to read it, unless nginx runs as the user of the test.
  ///   - extra: Directives of the `server` block, such as `limit_rate 1m;` or a `location`.
  ///   - http: Directives of the `http` block.
  package static func start(
    tls: TLSFiles? = nil, documentRoot: String? = nil, extra: String = "", http: String = ""
  ) async throws -> RealServer {
    try await RealServer.start(.nginx, tls: tls, documentRoot: documentRoot) { site in
      try site.folder.write(configuration(site, extra: extra, http: http), to: "nginx.conf")
      return ["-p", site.folder.path, "-e", site.folder.file("error.log"), "-c", site.folder.file("nginx.conf")]
    }
  }

  private static func configuration(_ site: RealServer.Site, extra: String, http: String) throws -> String {
    var listen = "listen 127.0.0.1:\(site.port);"
    if let tls = site.tls, let port = site.securePort {
      listen += """

        listen 127.0.0.1:\(port) ssl http2;
        ssl_certificate "\(tls.certificateFile)";
        ssl_certificate_key "\(tls.keyFile)";
        ssl_protocols TLSv1.2 TLSv1.3;
        """
    }
    let scratch = try ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "\($0)_temp_path \"\(try site.folder.makeFolder("scratch-" + $0))\";"
    }
    return """
      daemon off;
      \(getuid() == 0 ? "user root;" : "")
      worker_processes 1;
      pid "\(site.folder.file("nginx.pid"))";
      error_log "\(site.folder.file("error.log"))" info;
      events { worker_connections 1024; }
      http {
        types {
          text/html html;
          text/plain txt;
          text/css css;
          application/json json;
        }
        default_type application/octet-stream;
        access_log "\(site.folder.file("access.log"))";
        sendfile on;
        tcp_nopush on;
        keepalive_timeout 60s;
        keepalive_requests 100000;
        client_max_body_size 0;
        gzip on;
        gzip_min_length 20;
        gzip_types text/plain text/css application/json;
        \(scratch.joined(separator: "\n  "))
        \(http)
        server {
          \(listen)
          server_name localhost;
          root "\(site.documentRoot)";
          \(extra)
        }
      }

      """
  }
}
