import Foundation
import LoopbackServer
import Testing

/// A service that can't start.
struct WaitingForTheServiceTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test func waitTellsWhyTheServiceDoesNotStart() async throws {
    let state = sandbox.home.path + "/state/urlsessiond"
    try FileManager.default.createDirectory(
      atPath: state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try FileManager.default.createSymbolicLink(atPath: state + "/partial", withDestinationPath: "/nowhere")
    let waiting = try RunningProgram(
      Sandbox.program("urlsession"), arguments: ["wait", "1"], environment: sandbox.environment, folder: sandbox.work,
      files: sandbox.home.path + "/tmp/wait", input: nil)
    try await eventually("the reason to be told") { waiting.errorsSoFar.contains("put the folder back in its place") }
    waiting.signal(SIGINT)
    #expect(try await waiting.ended().status == 130)
  }
}
