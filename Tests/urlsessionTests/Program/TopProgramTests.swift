import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// The commands about transfers of every app, as programs.
@Suite struct TopProgramTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func download(_ url: URL, to name: String = "x") async throws -> String {
    let ended = try await sandbox.run("download", "--json", "-o", name, url.absoluteString)
    #expect(ended.status == 0, "\(ended.errors)")
    return "\(try #require(try ended.json()["transfer"] as? Int))"
  }

  @Test func topDrawsPausesAndGivesTheTerminalBack() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let number = try await download(server.url("/f"), to: "file.bin")
    let terminal = try Terminal()
    let program = try sandbox.startInTerminal(["top"], terminal)
    try await eventually("the transfer on the screen") { terminal.transcriptSoFar.contains("file.bin") }
    try terminal.type("p")
    try await eventually("the pause on the screen") {
      terminal.transcriptSoFar.contains("Transfer \(number) is paused by the user.")
    }
    #expect(try await sandbox.run("why", number).text.contains("is paused by the user"))
    try terminal.type("r")
    try terminal.type("l2M")
    try await eventually("the rate that is typed") {
      terminal.transcriptSoFar.contains("Limit of transfer \(number): 2M_")
    }
    try terminal.type("\r")
    try await eventually("the limit on the screen") {
      terminal.transcriptSoFar.contains("Transfer \(number): 2 MB/s")
    }
    #expect(try await sandbox.run("show", number).text.contains("transfer 2 MB/s"))
    try terminal.type("l\r")
    try await eventually("no limit on the screen") {
      terminal.transcriptSoFar.contains("Transfer \(number): no limit")
    }
    #expect(try await !sandbox.run("show", number).text.contains("2 MB/s"))
    try terminal.type("c")
    try await eventually("the question") { terminal.transcriptSoFar.contains("Cancel transfer \(number)") }
    try terminal.type("n")
    try terminal.type("q")
    let ended = try await program.ended()
    #expect(ended.status == 0, "\(ended.errors)")
    let transcript = try terminal.transcript()
    #expect(transcript.hasPrefix("\u{1B}[?1049h") && transcript.hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
    #expect(transcript.contains("\u{1B}[7m"), "the selected one stands out")
    await server.shutdown()
  }

  @Test func aSignalGivesTheTerminalBack() async throws {
    let terminal = try Terminal()
    let program = try sandbox.startInTerminal(["top"], terminal)
    try await eventually("a screen") { terminal.transcriptSoFar.contains("q quit") }
    program.signal(SIGTERM)
    #expect(try await program.ended().status == 143)
    #expect(try terminal.transcript().hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
  }

  @Test func topNeedsATerminal() async throws {
    let ended = try await sandbox.run("top")
    #expect(ended.status == 64)
    #expect(ended.errors == "urlsession: top needs a terminal: use `urlsession list`\n")
  }

  @Test func transfersArePausedResumedAndEdited() async throws {
    let server = try await LoopbackServer.start { request in request.path == "/b" ? .ok("body") : .never }
    let number = try await download(server.url("/a"))
    #expect(try await sandbox.run("pause", number).text == "Transfer \(number): paused\n")
    #expect(try await sandbox.run("pause", number).text == "Transfer \(number): paused already\n")
    #expect(try await sandbox.run("retry", number).status == 69)
    #expect(try await sandbox.run("edit", number).status == 64)
    let url = server.url("/b").absoluteString
    #expect(
      try await sandbox.run("edit", number, "--url", url, "-H", "X-Token: 2").text == "Transfer \(number): changed\n")
    #expect(try await sandbox.run("resume", number).text == "Transfer \(number): resumed\n")
    let waited = try await sandbox.run("wait", number)
    #expect(waited.status == 0, "\(waited.errors)")
    #expect(sandbox.content("x") == Data("body".utf8))
    #expect(try await sandbox.run("pause", number).status == 1, "it is over")
    #expect(try await sandbox.run("resume", "999").status == 66)
    let log = try await sandbox.run("log", number)
    #expect(log.status == 0 && log.text.contains("transfer \(number) is over"), "\(log.text)\(log.errors)")
    await server.shutdown()
  }

  /// What is in the way of the service in a sandbox, and a part of the advice.
  enum Obstacle: CaseIterable, Sendable {
    case openRuntimeFolder, fileForStateFolder, folderForSocket, longPath, oldSocket, noRuntimeFolder

    var check: String {
      switch self {
      case .openRuntimeFolder, .noRuntimeFolder: "runtimeFolder"
      case .fileForStateFolder: "stateFolder"
      case .folderForSocket, .longPath, .oldSocket: "socket"
      }
    }

    /// nil: nothing has to be mended.
    var advice: String? {
      switch self {
      case .openRuntimeFolder: "chmod 700 "
      case .fileForStateFolder: "move it away"
      case .folderForSocket: "move "
      case .longPath, .oldSocket, .noRuntimeFolder: nil
      }
    }

    /// Returns what the environment has besides.
    func put(in home: String) throws -> [String: String] {
      let files = FileManager.default
      let folder = home + "/run/urlsessiond"
      switch self {
      case .openRuntimeFolder:
        try files.createDirectory(
          atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
      case .fileForStateFolder: try Data().write(to: URL(fileURLWithPath: home + "/state/urlsessiond"))
      case .folderForSocket:
        for name in ["", "/socket"] {
          try files.createDirectory(
            atPath: folder + name, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
      case .longPath: return ["XDG_RUNTIME_DIR": home + "/" + String(repeating: "x", count: 107)]
      case .oldSocket:
        try files.createDirectory(
          atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        #expect(mknod(folder + "/socket", S_IFSOCK | 0o600, 0) == 0)
      // That of the machine's user, or a folder in that for temporary files.
      case .noRuntimeFolder: return ["XDG_RUNTIME_DIR": ""]
      }
      return [:]
    }
  }

  @Test(arguments: Obstacle.allCases) func doctorSaysHowToMend(_ obstacle: Obstacle) async throws {
    let variables = try obstacle.put(in: sandbox.home.path)
    let ended = try await sandbox.run("doctor", "--json", variables: variables)
    #expect(ended.status == (obstacle.advice == nil ? 0 : 69), "\(ended.text)\(ended.errors)")
    let checks = try #require(try ended.json()["checks"] as? [[String: Any]])
    let failing = checks.filter { $0["verdict"] as? String == "fail" }
    #expect(failing.compactMap { $0["check"] as? String } == (obstacle.advice == nil ? [] : [obstacle.check]))
    if let advice = obstacle.advice { #expect((failing.first?["advice"] as? String)?.contains(advice) == true) }
  }

  @Test func doctorChecksASandbox() async throws {
    let report = try await sandbox.run("doctor", "--json").json()
    let checks = try #require(report["checks"] as? [[String: Any]])
    #expect(checks.first { $0["check"] as? String == "program" }?["verdict"] as? String == "ok")
    #expect(chmod(sandbox.home.path + "/state", 0o700) == 0)
    try FileManager.default.createDirectory(
      atPath: sandbox.home.path + "/state/urlsessiond", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o777])
    let ended = try await sandbox.run("doctor")
    #expect(ended.status == 69)
    #expect(ended.text.contains("chmod 700 \(sandbox.home.path)/state/urlsessiond"))
  }
}
