import HTTPSemantics
import HTTPTransport
import NIOCore
import Testing

@testable import FTPTransport

/// The control connection: commands out, replies in.
@Suite struct FTPControlTests {
  /// Runs `body` with the control connection to a server that sends `pieces`, on a loop.
  private func withControl<Value: Sendable>(
    _ pieces: [String], _ body: @escaping @Sendable (FTPControl, ScriptedStream) async throws -> Value
  ) async throws -> Value {
    let executor = try #require(LoopExecutor.all.first)
    return try await Task(executorPreference: executor) {
      let stream = ScriptedStream(pieces, on: executor.loop)
      return try await body(FTPControl(stream, on: executor.loop), stream)
    }.value
  }

  @Test func eachCommandGetsTheNextReply() async throws {
    try await withControl(["220 ready\r\n331 wh", "o?\r", "\n230-come\r\n230 in\r\n"]) { control, stream in
      let greeting = try await control.reply()
      #expect(greeting.code == 220)
      let question = try await control.ask(FTPCommand("USER", Array("me".utf8)))
      #expect(question.code == 331)
      let reply = try await control.ask(FTPCommand("PASS", Array("secret".utf8)))
      #expect(reply.code == 230 && reply.lines.count == 2)
      #expect(stream.written == "USER me\r\nPASS secret\r\n")
    }
  }

  @Test func bytesAreCounted() async throws {
    try await withControl(["220 ready\r\n", "200 ok\r\n"]) { control, _ in
      _ = try await control.reply()
      _ = try await control.ask(FTPCommand("NOOP"))
      #expect(control.bytesSent == 6 && control.bytesReceived == 19)
    }
  }

  /// An argument with a line end would be a second command.
  @Test(arguments: ["a\r\nDELE a", "a\n", "a\r", "a\u{0}"]) func lineEndsAreRefused(argument: String) async throws {
    try await withControl(["250 done\r\n"]) { control, stream in
      await #expect(throws: TransportError.self) {
        try await control.ask(FTPCommand("CWD", Array(argument.utf8)))
      }
      #expect(stream.written.isEmpty && control.bytesSent == 0)
    }
  }

  @Test(arguments: [[], ["220 rea"], ["220-ready\r\n"]]) func closingBeforeTheReplyIsALostConnection(
    pieces: [String]
  ) async throws {
    try await withControl(pieces) { control, _ in
      let error = await #expect(throws: TransportError.self) { try await control.reply() }
      guard case .connectionLost = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n", "hello\r\n", "22 x\r\n"])
  func otherProtocolsAreNoReplies(line: String) async throws {
    try await withControl([line]) { control, _ in
      let error = await #expect(throws: FTPFailure.self) { try await control.reply() }
      guard case .malformed = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  @Test func announcementsArePassedOverUpToALimit() async throws {
    let announcement = "120 soon\r\n"
    try await withControl([String(repeating: announcement, count: 15) + "220 now\r\n"]) { control, _ in
      let reply = try await control.finalReply()
      #expect(reply.code == 220)
    }
    try await withControl([String(repeating: announcement, count: 1_000)]) { control, _ in
      let error = await #expect(throws: TransportError.self) { try await control.finalReply() }
      guard case .malformedResponse = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  @Test func quitIsSaidAndNotWaitedFor() async throws {
    try await withControl([]) { control, stream in
      control.quit()
      #expect(stream.lastWords == "QUIT\r\n" && !stream.isClosed)
    }
  }
}
