import ChildProcess
import Foundation
import LoopbackServer
import RealServers
import Testing

/// The user's keychain as sessions use it. The loads are made by a program of its own: the message bus is a matter of the
/// whole process.
@Suite(.fewAtATime) struct KeychainTests {
  private func load(
    _ url: URL, count: Int = 1, _ environment: [String: String], _ arguments: String...
  ) async throws -> [String] {
    let run = try await ProgramRun.run(
      BuiltProgram.path("load-app"), arguments, environment: environment,
      input: String(repeating: "GET \(url.absoluteString)\n", count: count))
    #expect(run.status == 0, "\(run.errors)")
    return run.output.split(separator: "\n").map { String($0) }
  }

  private func withServer(_ body: (LoopbackServer) async throws -> Void) async throws {
    let expected = "Basic " + Data("ann:hunter2".utf8).base64EncodedString()
    let server = try await LoopbackServer.start { request in
      request.value("Authorization") == expected
        ? .ok("in") : .status(401, fields: [("WWW-Authenticate", #"Basic realm="here""#)], body: "who?")
    }
    try await body(server)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  // MARK: Sessions that keep to themselves

  /// A message bus that writes down who comes. The app's own storage looks for a keychain there; that of an ephemeral
  /// session does not, nor does a session without any, also where the app's answer is a permanent credential.
  @Test(
    arguments: ["storage=ephemeral", "storage=none", "storage=shared"], ["user=ann:hunter2", "user=ann:wrong", ""])
  func onlyTheAppsStorageLooksForAKeychain(storage: String, user: String) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("b\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = LoopbackServer.Options()
    options.socketPath = folder.path + "/bus"
    let bus = try await LoopbackServer.startRaw(options: options) { _ in }
    let environment = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=" + folder.path + "/bus"]
    try await withServer { server in
      let printed =
        user.isEmpty
        ? try await load(server.url(), count: 2, environment, storage)
        : try await load(server.url(), count: 2, environment, storage, user)
      let status = user == "user=ann:hunter2" ? "200 " : "401 "
      #expect(printed.count == 2 && printed.allSatisfy { $0.hasPrefix(status) }, "\(printed)")
    }
    #expect((bus.connectionCount > 0) == (storage == "storage=shared"))
    try await bus.expectNoOpenConnections()
    await bus.shutdown()
  }

  // MARK: A keychain that is locked

  /// The load that asks the app's storage for a default credential gets none, and goes on: the app is asked, and without an
  /// answer of the app the refusal is the response.
  @Test(.enabled(if: Keyring.runsHere, "\(Keyring.advice)")) func aLockedKeychainLeavesTheQuestionToTheApp()
    async throws
  {
    let keyring = try await Keyring.start()
    try await withServer { server in
      let kept = try await load(server.url(), keyring.environment, "storage=shared", "user=ann:hunter2")
      #expect(kept == ["200 http/1.1:401,http/1.1:200 in"])
      // It is written behind the load; the next process finds it there.
      let found = try await load(server.url(), keyring.environment, "storage=shared")
      #expect(found == ["200 http/1.1:401,http/1.1:200 in"])
      try await keyring.lock()
      let started = ContinuousClock.now
      let refused = try await load(server.url(), count: 2, keyring.environment, "storage=shared")
      #expect(refused == ["401 http/1.1:401 who?", "401 http/1.1:401 who?"])
      let answered = try await load(server.url(), count: 2, keyring.environment, "storage=shared", "user=ann:hunter2")
      #expect(answered == ["200 http/1.1:401,http/1.1:200 in", "200 http/1.1:200 in"])
      #expect(ContinuousClock.now - started < .seconds(60))
    }
    await keyring.stop()
  }

  /// The same with a user who closes the question of the keychain. It is put once, not with each load.
  @Test(
    .enabled(if: Keyring.runsHere, "\(Keyring.advice)"),
    .enabled(if: KeyringPrompter.runsHere, "\(KeyringPrompter.advice)"))
  func aQuestionThatIsClosedIsNotPutWithEachLoad() async throws {
    let keyring = try await Keyring.start()
    try await withServer { server in
      _ = try await load(server.url(), keyring.environment, "storage=shared", "user=ann:hunter2")
      #expect(
        try await load(server.url(), keyring.environment, "storage=shared") == ["200 http/1.1:401,http/1.1:200 in"])
      try await keyring.lock()
      let prompter = try await KeyringPrompter.start(for: keyring, user: .dismisses)
      let refused = try await load(server.url(), count: 5, keyring.environment, "storage=shared")
      #expect(refused == Array(repeating: "401 http/1.1:401 who?", count: 5))
      #expect(prompter.questions == 1)
      await prompter.stop()
    }
    await keyring.stop()
  }
}
