import ChildProcess
import Foundation
import Glibc

/// `ssh -D`: OpenSSH's client takes SOCKS 4, 4a and 5, and its server, which it starts itself and talks to through a pipe,
/// resolves the names and connects. What the server does stands in ``RealServer/errorLog``.
extension RealProxy {
  static let sshClient = InstalledServer(program: "ssh", package: "openssh-client")

  func ssh(_ site: RealServer.Site) throws -> [String] {
    let server = try installed.path()
    // Where the server of root locks up what it does not trust; systemd makes it for the system's own server.
    if getuid() == 0 { try FileManager.default.createDirectory(atPath: "/run/sshd", withIntermediateDirectories: true) }
    for name in ["server-key", "user-key"] {
      try makeKey(site.folder.file(name))
    }
    try site.folder.write(
      """
      HostKey \(site.folder.file("server-key"))
      AuthorizedKeysFile \(site.folder.file("user-key.pub"))
      StrictModes no
      UsePAM no
      PidFile none
      LogLevel DEBUG1

      """, to: "sshd.conf")
    return [
      "-N", "-F", "none", "-D", "127.0.0.1:\(site.port)", "-i", site.folder.file("user-key"),
      "-o", "ProxyCommand=\"\(server)\" -i -e -f \"\(site.folder.file("sshd.conf"))\"",
      "-o", "ExitOnForwardFailure=yes", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes",
      "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "GlobalKnownHostsFile=/dev/null",
      "server.example",
    ]
  }

  private func makeKey(_ file: String) throws {
    let tool = InstalledServer(program: "ssh-keygen", package: Self.sshClient.package)
    let process = ChildProcess()
    process.executableURL = URL(fileURLWithPath: try tool.path())
    process.arguments = ["-q", "-t", "ed25519", "-N", "", "-f", file]
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw RealServerError.didNotStart(program: tool.program, log: "status \(process.terminationStatus)")
    }
  }
}
