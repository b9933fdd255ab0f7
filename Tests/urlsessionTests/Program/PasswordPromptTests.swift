import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// The question for a password on a terminal that a shell goes on using afterwards.
@Suite struct PasswordPromptTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// The shell outlives the signal, and says how the program ended and what the terminal is like then. The program it
  /// starts is this one's child, which tells its number first.
  private static let script = """
    ulimit -c 0
    trap : INT TERM HUP QUIT
    sh -c 'echo $$ >number; exec "$0" "$@"' "$@"
    echo "ended $?"
    stty -a </dev/tty
    """

  private func start(_ arguments: [String], _ terminal: Terminal) throws -> RunningProgram {
    try RunningProgram(
      "/bin/sh", arguments: ["-c", Self.script, "sh", Sandbox.program("urlsession")] + arguments,
      environment: sandbox.environment, folder: sandbox.work, files: "\(sandbox.home.path)/tmp/\(UUID().uuidString)",
      input: nil, terminal: terminal, controls: true)
  }

  private func number() throws -> pid_t {
    let text = String(decoding: try #require(sandbox.content("number")), as: UTF8.self)
    return try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  @Test(arguments: ["get", "download"], [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func aSignalLeavesATerminalThatShowsWhatIsTyped(command: String, signal: Int32) async throws {
    let server = try await LoopbackServer.start { _ in
      .status(401, fields: [("WWW-Authenticate", #"Basic realm="here""#)])
    }
    let terminal = try Terminal()
    let program = try start([command, "--user", "ann", server.url("/a").absoluteString], terminal)
    try await eventually("the question") { terminal.transcriptSoFar.contains("Password of ann for 127.0.0.1: ") }
    #expect(!terminal.showsTyping)
    // Control-C, as it is typed; the others come from elsewhere.
    if signal == SIGINT { try terminal.type("\u{3}") } else { kill(try number(), signal) }
    let ended = try await program.ended()
    #expect(ended.lines.first == "ended \(128 + signal)", "\(ended.text)")
    let settings = ended.text.split(whereSeparator: \.isWhitespace)
    #expect(settings.contains("echo") && !settings.contains("-echo"), "\(ended.text)")
    await server.shutdown()
  }

  @Test func theEndOfTheInputLeavesATerminalThatShowsWhatIsTyped() async throws {
    let server = try await LoopbackServer.start { _ in
      .status(401, fields: [("WWW-Authenticate", #"Basic realm="here""#)])
    }
    let terminal = try Terminal()
    let program = try start(["get", "--user", "ann", server.url("/a").absoluteString], terminal)
    try await eventually("the question") { terminal.transcriptSoFar.contains("Password of ann for 127.0.0.1: ") }
    #expect(!terminal.showsTyping)
    // The end of the input.
    try terminal.type("\u{4}")
    let ended = try await program.ended()
    #expect(ended.lines.first == "ended 22", "\(ended.text)")
    #expect(!ended.text.split(whereSeparator: \.isWhitespace).contains("-echo"), "\(ended.text)")
    await server.shutdown()
  }
}
