import ChildProcess
import Foundation
import LoopbackServer
import Testing
import TransferScript

/// The machine loses its power, or sleeps, and then the service starts as the user's service manager starts it.
@Suite(.fewAtATime) struct MachineStartTests {
  /// Starts the service and no app.
  private func startService(_ home: Home, in place: [String]) throws -> ChildProcess {
    let words = place + [Programs.path("urlsessiond"), "--foreground"]
    let process = ChildProcess()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.environment = home.environment
    process.standardInput = FileHandle.nullDevice
    let log = home.path + "/service.log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    process.standardError = FileHandle(forWritingAtPath: log)
    try process.run()
    return process
  }

  /// The runtime folder is in memory.
  private func emptyRuntimeFolder(_ home: Home) throws {
    try FileManager.default.removeItem(atPath: home.path + "/run")
    try FileManager.default.createDirectory(
      atPath: home.path + "/run", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  @Test(.enabled(if: Namespaces.obstacleToOtherStarts == nil, "\(Namespaces.obstacleToOtherStarts ?? "")"))
  func aTransferGoesOnAfterTheMachineHasStartedAgainAndItsAppIsStarted() async throws {
    let file = FileResource(size: 16 << 20)
    file.update { $0.cuts = [.after(11 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(["URLSESSIOND_LAUNCH_GRACE": "0.2"]) { home in
      let app = try await home.start(in: Namespaces.otherStart(of: home, name: "first"))
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f", mark: "kept"))
      try await app.tell(.flush)
      try await eventually("more bytes than may be lost") { home.partialSize() >= 10 << 20 }
      let served = file.served.count
      try await home.killEverything()
      try emptyRuntimeFolder(home)
      let place = try Namespaces.otherStart(of: home, name: "second")
      let service = try startService(home, in: place)
      try await home.log().waitFor(.launchHandled)
      home.expectArrived("f", file.version)
      file.expectLittleLost()
      #expect(file.served.count == served + 1 && home.log().launches == 1)
      try await home.expectNothingKept()
      service.terminate()
      service.waitUntilExit()
      #expect(service.terminationStatus == 0)
    }
    await server.shutdown()
  }

  /// The clock of the machine counts the time that it sleeps.
  @Test(
    .enabled(if: Namespaces.obstacleToLaterTimes == nil, "\(Namespaces.obstacleToLaterTimes ?? "")"),
    arguments: [(600, nil), (7_200, URLError.Code.timedOut.rawValue)] as [(Int, Int?)])
  func theTimeOfATransferGoesOnWhileTheMachineSleeps(seconds: Int, error: Int?) async throws {
    let file = FileResource(size: 100_000)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run(["URLSESSIOND_LAUNCH_GRACE": "0.2"]) { home in
      try home.plan { $0.resourceTimeout = 3_600 }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await home.killEverything()
      gate.open()
      let service = try startService(home, in: Namespaces.later(by: seconds))
      let end = try await home.log().waitFor(.didComplete, label: "f")
      #expect(end.error == error)
      try await home.log().waitFor(.launchHandled)
      #expect(home.log().launches == 1)
      if error == nil { home.expectArrived("f", file.version) }
      try await home.expectNothingKept()
      kill(try await home.service(), SIGTERM)
      service.waitUntilExit()
    }
    await server.shutdown()
  }
}
