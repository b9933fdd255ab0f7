import Foundation
import Testing

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
}
