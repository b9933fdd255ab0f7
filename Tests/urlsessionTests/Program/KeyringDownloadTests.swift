import Foundation
import LoopbackServer
import RealServers
import Testing

@testable import urlsession

/// The passwords of downloads in the background, with gnome-keyring on a message bus of its own: that of a URL is in the
/// queue, sealed with a key of the keyring, and that of a user who was named is in the keyring itself.
@Suite(.enabled(if: Keyring.runsHere, "\(Keyring.advice)"))
struct KeyringDownloadTests {
  private let sandbox: Sandbox
  private let file = FileResource(size: 300_000)

  private static let expected = "Basic " + Data("ann:hunter2".utf8).base64EncodedString()

  init() throws {
    sandbox = try Sandbox()
    try sandbox.write("hunter2\n", to: "password")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(sandbox.work)/password")
    // The first answer stops in the middle.
    file.update { $0.cuts = [.after(100_000, .stall)] }
  }

  /// Begins a download, and ends the service by KILL when a part of the file has come.
  private func withInterruptedDownload(
    namesPasswordInURL: Bool,
    _ body: (_ transfer: String, _ variables: [String: String], Keyring, LoopbackServer) async throws -> Void
  ) async throws {
    let server = try await LoopbackServer.start { [file] request in
      request.value("Authorization") == Self.expected
        ? file.reply(to: request) : .status(401, fields: [("WWW-Authenticate", #"Basic realm="here""#)])
    }
    let keyring = try await Keyring.start()
    let variables = keyring.environment.filter { $0.key == "DBUS_SESSION_BUS_ADDRESS" }
    let user = namesPasswordInURL ? "ann:hunter2@" : ""
    let options = namesPasswordInURL ? [] : ["--user", "ann", "--password-file", "password"]
    let started = try await sandbox.start(
      ["download", "--json", "-o", "x"] + options + ["http://\(user)127.0.0.1:\(server.port)/x"], variables: variables
    ).ended()
    #expect(started.status == 0 && !started.errors.contains("keychain"), "\(started.errors)")
    #expect(!started.text.contains("hunter2"))
    let number = try #require(try started.json()["transfer"] as? Int)
    try await eventually("a part of the file") { [file] in (file.served.first?.sent ?? 0) >= 100_000 }
    #expect(try filesWithPassword().isEmpty)
    sandbox.endPrograms()
    try await server.expectNoOpenConnections()
    #expect(try filesWithPassword().isEmpty)
    try await body("\(number)", variables, keyring, server)
    #expect(try filesWithPassword().isEmpty)
    sandbox.endPrograms()
    await keyring.stop()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  private func filesWithPassword() throws -> [String] {
    try sandbox.files(containing: ["hunter2", Data("ann:hunter2".utf8).base64EncodedString()])
      .filter { $0 != "work/password" }
  }

  @Test(arguments: [true, false]) func aServiceThatStartsAgainKnowsThePassword(namesPasswordInURL: Bool) async throws {
    try await withInterruptedDownload(namesPasswordInURL: namesPasswordInURL) { transfer, variables, _, server in
      let waited = try await sandbox.run("wait", transfer, variables: variables)
      #expect(waited.status == 0, "\(waited.errors)")
      #expect(sandbox.content("x") == Data(file.version.pattern.bytes(count: 300_000)))
      #expect(file.served.count == 2)
    }
  }

  /// The key, and the password, are in the keyring alone: while it is locked, the transfer waits and asks no server.
  @Test(arguments: [true, false]) func aTransferWaitsForALockedKeyring(namesPasswordInURL: Bool) async throws {
    try await withInterruptedDownload(namesPasswordInURL: namesPasswordInURL) { transfer, variables, keyring, server in
      try await keyring.lock()
      let count = server.requests.count
      // Starts the service.
      let waiting = try sandbox.start(["wait", transfer], variables: variables)
      try await eventually("the reason", every: .milliseconds(200)) {
        try await sandbox.run("why", transfer, variables: variables).text.contains("keychain with the key is locked")
      }
      #expect(sandbox.content("x") == nil && server.requests.count == count)
      withExtendedLifetime(waiting) {}
    }
  }
}
