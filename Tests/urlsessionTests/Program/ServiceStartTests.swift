import Foundation
import Testing
import TransferProtocol

/// The service can't be started.
@Suite struct ServiceStartTests {
  @Test func theReasonIsInTheError() async throws {
    let sandbox = try Sandbox()
    let folder = sandbox.home.path + "/run/urlsessiond"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    #expect(chmod(folder, 0o777) == 0)
    let ended = try await sandbox.run("download", "http://127.0.0.1:1/f")
    #expect(ended.status != 0)
    #expect(ended.errors.contains("\(folder) is open to other users (mode 777)"), "\(ended.errors)")
    #expect(!ended.errors.contains("URLSESSIOND_PATH"), "the program was found")
  }

  @Test func doctorTellsTheReasonOfTheLastStart() async throws {
    let sandbox = try Sandbox()
    let folder = "\(sandbox.home.path)/state/\(ServiceNames.directory)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let log = "2026-01-01T00:00:00Z notice: serving on /s\nError: open \(folder)/lock: No space left on device\n"
    try Data(log.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(ServiceNames.log)"))
    let checks = try #require(try await sandbox.run("doctor", "--json").json()["checks"] as? [[String: Any]])
    let start = try #require(checks.first { $0["check"] as? String == "start" })
    #expect(start["verdict"] as? String == "warn")
    #expect((start["text"] as? String)?.hasSuffix("open \(folder)/lock: No space left on device") == true)
    #expect((start["advice"] as? String)?.hasPrefix("make room on the disk of \(folder)") == true)
  }
}
