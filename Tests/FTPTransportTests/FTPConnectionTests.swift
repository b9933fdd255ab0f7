import HTTPSemantics
import HTTPTransport
import NIOCore
import Testing

@testable import FTPTransport

/// Whether a control connection can serve another session, and from which folder.
@Suite struct FTPConnectionTests {
  /// Runs `body` with a connection that is logged in to a server that sends `pieces`, on its loop.
  private func withConnection(
    _ pieces: [String] = [], staysOpen: Bool = false,
    _ body: @escaping @Sendable (FTPConnection, ScriptedStream) async throws -> Void
  ) async throws {
    let executor = try #require(LoopExecutor.all.first)
    try await Task(executorPreference: executor) {
      let stream = ScriptedStream(["220 ready\r\n"] + pieces, staysOpen: staysOpen, on: executor.loop)
      let connection = FTPConnection(stream, nil, on: executor.loop)
      _ = try await connection.control.reply()
      connection.isLoggedIn = true
      try await body(connection, stream)
    }.value
  }

  /// A reply to another command than NOOP would make all that follow one command late.
  @Test(arguments: [
    ("200 fine\r\n", true), ("502 what?\r\n", true), ("500 what?\r\n", true), ("226 sent\r\n", false),
    ("200 fine\r\n226 sent\r\n", false), ("226 sent\r\n200 fine\r\n", false), ("421 bye\r\n", false),
    ("530 log in\r\n", false), ("150 wait\r\n", false),
  ]) func aConnectionIsAliveWhenItsServerAnswersInStep(answer: String, isAlive: Bool) async throws {
    try await withConnection([answer], staysOpen: true) { connection, _ in
      let answered = await connection.isAlive()
      #expect(answered == isAlive)
    }
  }

  @Test func aServerThatDoesNotAnswerIsGivenUp() async throws {
    try await withConnection(staysOpen: true) { connection, stream in
      let isAlive = await connection.isAlive(within: .milliseconds(10))
      #expect(!isAlive && stream.isClosed && stream.written == "NOOP\r\n")
    }
  }

  @Test func aConnectionIsNotUsedAgainWhenSomethingCameUnasked() async throws {
    try await withConnection { connection, stream in
      #expect(connection.isReusable)
      stream.hasUnreadInput = true
      #expect(!connection.isReusable)
      let isAlive = await connection.isAlive()
      #expect(!isAlive && stream.written.isEmpty)
    }
  }

  /// The server would begin the next file, or write it, where the last one was to begin.
  @Test func aConnectionIsNotUsedAgainWithAnOffsetThatNoTransferUsed() async throws {
    try await withConnection { connection, _ in
      connection.hasUnusedOffset = true
      #expect(!connection.isReusable)
    }
  }

  @Test func aFolderThatWasRefusedLeavesTheOneBefore() async throws {
    func step(_ name: String) -> FTPCommand { FTPCommand("CWD", Array(name.utf8)) }
    let (pub, root, file) = (step("pub"), step("/etc"), step("deep"))
    try await withConnection { connection, _ in
      connection.entered(pub)
      #expect(connection.leads(to: [root]) && Array(connection.remaining(of: [root])) == [root])
      // The server has said no: names count from `pub` still.
      #expect(!connection.leads(to: []) && Array(connection.remaining(of: [pub, file])) == [file])
      connection.entered(root)
      #expect(!connection.leads(to: [pub]) && Array(connection.remaining(of: [root, file])) == [file])
    }
  }
}
