import Foundation

/// A server program that tests may start, where it is, and what to do where it is not.
///
/// ```swift
/// @Test(.enabled(if: InstalledServer.nginx.runsHere, "\(InstalledServer.nginx.advice)"))
/// func downloadsFromNginx() async throws { let nginx = try await Nginx.start() … }
/// ```
/// On a developer's machine a test of a missing server is skipped and says what to install. In continuous integration
/// (environment variable `CI` set and not empty) it runs, and fails with ``RealServerError/notInstalled(package:)``.
package struct InstalledServer: Sendable {
  package let program: String
  /// The Debian package to install.
  package let package: String

  package static let nginx = InstalledServer(program: "nginx", package: "nginx-light")
  package static let apache = InstalledServer(program: "apache2", package: "apache2-bin")
  package static let caddy = InstalledServer(program: "caddy", package: "caddy")
  package static let lighttpd = InstalledServer(program: "lighttpd", package: "lighttpd")
  /// No server, but what a server's files are packed with.
  package static let zstd = InstalledServer(program: "zstd", package: "zstd")

  package init(program: String, package: String) {
    self.program = program
    self.package = package
  }

  /// The program's path. Looks in `PATH` and in the folders for system programs, which a user's `PATH` often lacks.
  package func path() throws -> String {
    if program.hasPrefix("/"), FileManager.default.isExecutableFile(atPath: program) { return program }
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { String($0) }
    for folder in folders + ["/usr/local/sbin", "/usr/sbin", "/sbin"] {
      let path = folder + "/" + program
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    throw RealServerError.notInstalled(package: package)
  }

  package var isInstalled: Bool { (try? path()) != nil }

  /// Whether a test that needs it should run: it is installed, or its absence must be a failure.
  package var runsHere: Bool {
    isInstalled || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty
  }

  /// What a skipped test says.
  package var advice: String { "\(program) is missing: apt-get install \(package)" }
}
