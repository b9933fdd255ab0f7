import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// The progress bar, as a terminal shows it.
@Suite struct TerminalTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// What was drawn over one line, in order: everything between two of the sequences that take the line away.
  private func drawings(_ transcript: String) -> [String] {
    transcript.components(separatedBy: "\r\u{1B}[K").dropFirst().map {
      // Behind the last one there are lines of other things.
      $0.components(separatedBy: "\r\n")[0]
    }
  }

  /// A file whose length is known; a third of it comes before the gate is open.
  private func serve(_ gate: Gate) async throws -> LoopbackServer {
    let file = FileResource(size: 6_000_000)
    file.update { $0.pause = (2_000_000, gate) }
    return try await LoopbackServer.start { file.reply(to: $0) }
  }

  private func isBar(_ drawing: String) -> Bool { drawing.contains("] ") && drawing.contains(" of 6 MB") }

  @Test func getDrawsABarAndLeavesItFull() async throws {
    let gate = Gate()
    let server = try await serve(gate)
    let terminal = try Terminal()
    let program = try sandbox.start(["get", "-o", "x", server.url("/x").absoluteString], terminal: terminal)
    try await eventually("a bar") { self.drawings(terminal.transcriptSoFar).contains(where: isBar) }
    gate.open()
    let ended = try await program.ended()
    #expect(ended.status == 0)
    #expect(BytePattern().difference(toFile: sandbox.work + "/x", count: 6_000_000) == nil)
    let transcript = try terminal.transcript()
    let drawings = drawings(transcript)
    #expect(drawings.count >= 2, "\(transcript.debugDescription)")
    #expect(drawings.allSatisfy { $0.count < Terminal.columns }, "\(transcript.debugDescription)")
    let bars = drawings.filter(isBar)
    #expect(bars.first?.contains(">") == true && bars.last?.contains("=] 100%") == true, "\(drawings)")
    // What comes next begins on a line of its own.
    #expect(transcript.hasSuffix("\r\n"))
    await server.shutdown()
  }

  @Test func waitingDrawsABarAndTakesItAway() async throws {
    let gate = Gate()
    let server = try await serve(gate)
    let terminal = try Terminal()
    let program = try sandbox.start(
      ["download", "--wait", "-o", "x", server.url("/x").absoluteString], terminal: terminal)
    try await eventually("a bar") { self.drawings(terminal.transcriptSoFar).contains(where: isBar) }
    gate.open()
    let ended = try await program.ended()
    #expect(ended.status == 0)
    #expect(BytePattern().difference(toFile: sandbox.work + "/x", count: 6_000_000) == nil)
    let transcript = try terminal.transcript()
    let drawings = drawings(transcript)
    #expect(drawings.contains(where: isBar), "\(transcript.debugDescription)")
    #expect(drawings.allSatisfy { $0.count < Terminal.columns }, "\(transcript.debugDescription)")
    #expect(transcript.hasSuffix("\r\n") || transcript.hasSuffix("\r\u{1B}[K"), "\(transcript.debugDescription)")
    await server.shutdown()
  }

  /// With `--quiet` the terminal shows nothing.
  @Test func quietDrawsNothing() async throws {
    let gate = Gate()
    gate.open()
    let server = try await serve(gate)
    let terminal = try Terminal()
    let ended = try await sandbox.start(
      ["download", "--wait", "-q", "-o", "x", server.url("/x").absoluteString], terminal: terminal
    ).ended()
    #expect(ended.status == 0)
    #expect(try terminal.transcript().isEmpty)
    await server.shutdown()
  }
}
