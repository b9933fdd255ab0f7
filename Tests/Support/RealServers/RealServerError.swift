/// Why a real server could not be started.
package enum RealServerError: Error, CustomStringConvertible {
  /// The program is not on this machine; `package` is the Debian package that has it.
  case notInstalled(package: String)
  /// The server ended instead of serving. `log` is what it said.
  case didNotStart(program: String, log: String)
  /// No free port was found, or the server kept losing the one it was given.
  case noFreePort

  package var description: String {
    switch self {
    case .notInstalled(let package): "not installed; install it with: apt-get install \(package)"
    case .didNotStart(let program, let log): "\(program) did not start: \(log)"
    case .noFreePort: "no free port"
    }
  }
}
