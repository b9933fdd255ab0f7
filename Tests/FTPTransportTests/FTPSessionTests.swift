import HTTPSemantics
import HTTPTransport
import LoopbackServer
import NIOCore
import Testing

@testable import FTPTransport

/// One resource over connections of its own, from a scripted server.
@Suite struct FTPSessionTests {
  /// Runs `body` with a session to a server that does what `script` says, on the session's loop. Proves afterwards that
  /// no connection is left.
  private func withSession(
    _ script: FTPScript, isPassive: Bool = true,
    _ body: @escaping @Sendable (FTPSession, ScriptedFTPServer) async throws -> Void
  ) async throws {
    let server = try await ScriptedFTPServer.start(script)
    let transport = HTTPTransport(configuration: TransportConfiguration())
    let executor = transport.executor(forHost: "127.0.0.1")
    let key = ConnectionKey(scheme: .http, host: "127.0.0.1", port: server.port)
    try await Task(executorPreference: executor) {
      let session = FTPSession(
        to: FTPServer(key, isPassive: isPassive), transport: transport, executor: executor, onProgress: {})
      do { try await body(session, server) } catch {
        session.abort(error)
        throw error
      }
      session.close()
    }.value
    try await server.expectNoOpenConnections()
    transport.shutDown()
    await server.shutdown()
  }

  private static let file = Result { FTPTransfer(try FTPResource(parsing: "ftp://127.0.0.1/a.txt")) }

  @Sendable private static func bytes(of session: FTPSession) async throws -> Int {
    var count = 0
    while let bytes = try await session.read() { count += bytes.readableBytes }
    return count
  }

  @Test(arguments: [true, false]) func theDataComesWholeAndIsCounted(isPassive: Bool) async throws {
    let script = FTPScript.file("a.txt", String(repeating: "x", count: 300_000))
    try await withSession(script, isPassive: isPassive) { session, server in
      let size = try await session.open(Self.file.get()).size
      let count = try await Self.bytes(of: session)
      #expect(size == 300_000 && count == 300_000)
      #expect(session.bytesOfData == 300_000)
      #expect(Int(session.bytesOfCommands) == server.commands.reduce(0) { $0 + $1.utf8.count + 2 })
      #expect(session.bytesOfReplies > 0 && session.responseEnd != nil)
      #expect(server.commands.contains("EPSV") == isPassive)
    }
  }

  /// The end of a connection that this side has closed is not the end of the data.
  @Test func anAbortedReadIsAFailureAndNoEnd() async throws {
    let folder = try FTPTransfer(FTPResource(parsing: "ftp://127.0.0.1/"))
    try await withSession(FTPScript().with { $0.keepsDataOpen = true }) { session, _ in
      _ = try await session.open(folder)
      let first = try await session.read()
      #expect(first != nil)
      let waiting = Task(executorPreference: session.executor) { try await session.read() }
      await session.executor.turn()
      session.abort(CancellationError())
      await #expect(throws: TransportError.self) { _ = try await waiting.value }
      await #expect(throws: TransportError.self) { _ = try await session.read() }
    }
  }

  @Test func theServerIsToldGoodbye() async throws {
    let left = Gate()
    let script = FTPScript.file().with { $0.onCommand = { if $0 == "QUIT" { left.open() } } }
    try await withSession(script) { session, _ in
      _ = try await session.open(Self.file.get())
      _ = try await Self.bytes(of: session)
      session.close()
      try await left.wait(within: patience)
    }
  }

  /// A file that is shorter than the server has said is not whole, whatever the server says at the end.
  @Test func dataThatIsShorterThanItsSizeIsAFailure() async throws {
    let script = FTPScript.file("a.txt", String(repeating: "x", count: 100_000)).with { $0.cut = 60_000 }
    try await withSession(script) { session, _ in
      _ = try await session.open(Self.file.get())
      let error = await #expect(throws: FTPFailure.self) { try await Self.bytes(of: session) }
      #expect(error == .truncated(count: 60_000, size: 100_000))
    }
  }

  /// A file that grows while it is sent: what comes after the server's word that all was sent is read, also by a reader
  /// that is held back for longer than the data connection may be silent.
  @Test func dataThatComesAfterTheServersWordIsRead() async throws {
    let gates = [Gate(), Gate()]
    let data = try await LoopbackServer.startRaw { connection in
      try await connection.write("0123456789")
      for gate in gates {
        try await gate.wait()
        try await connection.write("x")
      }
      try await connection.waitUntilClosed()
    }
    let script = FTPScript.file("a.txt", "0123456789").with {
      $0.answers["EPSV"] = "229 Entering Extended Passive Mode (|||\(data.port)|)\r\n"
      $0.answers["RETR"] = "150 here it comes\r\n226 sent\r\n"
    }
    try await withSession(script) { session, _ in
      session.patience = .milliseconds(50)
      _ = try await session.open(Self.file.get())
      var count = 0
      while count < 10, let bytes = try await session.read() { count += bytes.readableBytes }
      gates[0].open()
      try await Self.unreadData(of: session)
      // A read behind all that was announced begins to listen for the server's word.
      count += try await session.read()?.readableBytes ?? 0
      _ = try await session.ending?.value
      let pause = session.executor.loop.scheduleTask(in: session.patience * 2) {}
      try await pause.futureResult.get()
      gates[1].open()
      try await Self.unreadData(of: session)
      while let bytes = try await session.read() { count += bytes.readableBytes }
      #expect(count == 12)
    }
    try await data.expectNoOpenConnections()
    await data.shutdown()
  }

  /// Returns when data has come that was not read.
  @Sendable private static func unreadData(of session: FTPSession) async throws {
    let end = ContinuousClock.now + patience
    while session.data?.hasUnreadInput != true, ContinuousClock.now < end { await session.executor.turn() }
    #expect(session.data?.hasUnreadInput == true)
  }

  /// In active mode the server says that all was sent, and makes no data connection: then there was nothing to send, unless
  /// it has said before that there is.
  @Test(arguments: ["150 here it comes\r\n226 sent\r\n", "226 sent\r\n"], ["", "text"])
  func aServerThatEndsWithoutConnectingHasSentNothing(answer: String, text: String) async throws {
    let script = FTPScript.file("a.txt", text).with { $0.answers["RETR"] = answer }
    try await withSession(script, isPassive: false) { session, _ in
      guard text.isEmpty else {
        let error = await #expect(throws: FTPFailure.self) { try await session.open(Self.file.get()) }
        #expect(error == .truncated(count: 0, size: Int64(text.utf8.count)))
        return
      }
      _ = try await session.open(Self.file.get())
      let bytes = try await session.read()
      #expect(bytes == nil && session.responseEnd != nil)
    }
  }

  @Test func aServerThatEndsWithoutConnectingHasReceivedNothing() async throws {
    let script = FTPScript.file().with { $0.answers["STOR"] = "150 send it\r\n226 received\r\n" }
    let upload = try FTPTransfer(FTPResource(parsing: "ftp://127.0.0.1/a.txt"), .store)
    try await withSession(script, isPassive: false) { session, _ in
      await #expect(throws: TransportError.self) { try await session.open(upload) }
    }
  }

  @Test(arguments: [
    ("USER", "530 no\r\n"), ("PASS", "332 account?\r\n"), ("RETR", "550 no such file\r\n"), ("EPSV", "530 no\r\n"),
  ]) func refusalsAreFailuresWithTheReply(verb: String, answer: String) async throws {
    try await withSession(.file().with { $0.answers[verb] = answer }) { session, _ in
      let error = await #expect(throws: FTPFailure.self) { try await session.open(Self.file.get()) }
      #expect(error?.phrase.contains(answer.dropLast(2)) == true, "\(String(describing: error))")
    }
  }

  /// Wherever the session waits, `abort` ends the wait and closes the connections.
  @Test(arguments: ["", "USER", "EPSV", "RETR", "EPRT"]) func abortEndsEveryWait(verb: String) async throws {
    let script = FTPScript.file().with { if verb.isEmpty { $0.greeting = "" } else { $0.answers[verb] = "" } }
    try await withSession(script, isPassive: verb != "EPRT") { session, server in
      let opening = Task(executorPreference: session.executor) { _ = try await session.open(Self.file.get()) }
      try await eventually("the session to wait") {
        verb.isEmpty ? server.control.openConnections == 1 : server.commands.contains { $0.hasPrefix(verb) }
      }
      session.abort(TransportError.shutDown)
      await #expect(throws: (any Error).self) { try await opening.value }
      try await server.expectNoOpenConnections()
    }
  }
}
