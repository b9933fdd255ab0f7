import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferService

@Suite struct AppLauncherTests {
  /// A program that writes down how it was started.
  private func program(in folder: TemporaryFolder) throws -> ExecutableIdentity {
    let path = folder.path + "/app"
    let script = "#!/bin/sh\n{ echo \"$# arguments\"; env; } > \(folder.path)/seen\n"
    try Data(script.utf8).write(to: URL(fileURLWithPath: path))
    chmod(path, 0o700)
    var status = stat()
    try #require(lstat(path, &status) == 0)
    return ExecutableIdentity(
      path: path, device: UInt64(status.st_dev), inode: UInt64(status.st_ino), owner: status.st_uid)
  }

  @Test func startsTheAppWithItsSessionAndWithoutTheServicesVariables() async throws {
    let folder = try TemporaryFolder()
    let executable = try program(in: folder)
    let launcher = AppLauncher(environment: [
      "PATH": "/usr/bin:/bin", "LANG": "C", "XDG_X": "yes", "SECRET": "x", "NOTIFY_SOCKET": "/x", "LISTEN_FDS": "1",
      "URLSESSIOND_CRASH_AT": "midBody",
    ])
    let ended = Gate()
    try launcher.launch(executable, session: "my session; rm -rf /") { ended.open() }
    try await ended.wait(within: patience)
    let seen = try String(contentsOfFile: folder.path + "/seen", encoding: .utf8).split(separator: "\n")
    #expect(seen.first == "0 arguments")
    #expect(seen.contains("URLSESSION_LAUNCH_SESSION=my session; rm -rf /"))
    #expect(seen.contains("LANG=C") && seen.contains("XDG_X=yes"))
    for name in ["SECRET", "NOTIFY_SOCKET", "LISTEN_FDS", "URLSESSIOND_CRASH_AT"] {
      #expect(!seen.contains { $0.hasPrefix(name + "=") }, "\(name)")
    }
  }

  @Test func anUpdatedProgramIsStarted() async throws {
    let folder = try TemporaryFolder()
    var executable = try program(in: folder)
    executable.inode += 1
    let ended = Gate()
    try AppLauncher(environment: [:]).launch(executable, session: "s") { ended.open() }
    try await ended.wait(within: patience)
    #expect(FileManager.default.fileExists(atPath: folder.path + "/seen"))
  }

  @Test func aReplacedProgramIsNotStarted() throws {
    let folder = try TemporaryFolder()
    var executable = try program(in: folder)
    executable.inode += 1
    // Others could have put it there.
    chmod(folder.path, 0o777)
    #expect(throws: ExecutableIdentity.Change.replaced(executable.path)) {
      try AppLauncher(environment: [:]).launch(executable, session: "s") {}
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/seen"))
  }
}
