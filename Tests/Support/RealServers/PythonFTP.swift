import Foundation

/// Starts a server of Python's `pyftpdlib`: everyone may read and write the folder ``RealServer/documentRoot``.
package enum PythonFTP {
  /// Debian's interpreter, which its packages are for: another one may come first in `PATH`.
  private static let interpreter = "/usr/bin/python3"
  package static let packageName = "python3-pyftpdlib"

  /// Whether a test that needs it should run: it is installed, or its absence must be a failure.
  package static var runsHere: Bool {
    FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/pyftpdlib")
      || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty
  }

  /// What a skipped test says.
  package static var advice: String { "Python's pyftpdlib is missing: apt-get install \(packageName)" }

  package static func start() async throws -> RealServer {
    let server = InstalledServer(program: interpreter, package: packageName)
    return try await RealServer.start(server, tls: nil, documentRoot: nil) { site in
      try site.folder.write(script, to: "server.py")
      return ["-u", site.folder.file("server.py"), String(site.port), site.documentRoot]
    }
  }

  private static let script = """
    import sys
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler
    from pyftpdlib.servers import FTPServer

    authorizer = DummyAuthorizer()
    authorizer.add_anonymous(sys.argv[2], perm="elradfmwMT")
    FTPHandler.authorizer = authorizer
    FTPServer(("127.0.0.1", int(sys.argv[1])), FTPHandler).serve_forever()

    """
}
