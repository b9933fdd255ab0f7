import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// `httpShouldUsePipelining` over HTTP/1.1, on one connection.
@Suite struct PipeliningTests {
  private func session(_ isOn: Bool) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 1
    configuration.httpShouldUsePipelining = isOn
    return URLSession(configuration: configuration)
  }

  /// Reads heads of requests without bodies until there are `count`; their targets.
  @Sendable private static func targets(_ count: Int, _ connection: ServerConnection) async throws -> [String] {
    var text = ""
    while text.components(separatedBy: "\r\n\r\n").count <= count, let bytes = try await connection.read() {
      text += String(decoding: bytes.readableBytesView, as: UTF8.self)
    }
    return text.components(separatedBy: "\r\n\r\n").dropLast().map { String($0.split(separator: " ")[1]) }
  }

  private static func answer(_ text: String) -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
  }

  private func run(
    byDefault isOn: Bool = true, _ script: @escaping @Sendable (ServerConnection) async throws -> Void,
    _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    let server = try await LoopbackServer.startRaw(script: script)
    let session = session(isOn)
    do { try await body(server, session) } catch {
      session.invalidateAndCancel()
      await server.shutdown()
      throw error
    }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  private func loadAll(
    _ count: Int, _ server: LoopbackServer, _ session: URLSession, asking: Bool = false
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        group.addTask {
          var request = URLRequest(url: server.url("/\(number)"))
          request.httpShouldUsePipelining = asking
          let (data, _) = try await session.data(for: request)
          #expect(String(decoding: data, as: UTF8.self) == "/\(number)")
        }
      }
      try await group.waitForAll()
    }
  }

  /// The server answers only when it has seen four requests: without pipelining nothing would ever come.
  @Test func requestsAreWrittenBeforeTheFirstAnswer() async throws {
    try await run({ connection in
      for target in try await Self.targets(1, connection) { try await connection.write(Self.answer(target)) }
      let targets = try await Self.targets(4, connection)
      try await connection.write(targets.map { Self.answer($0) }.joined())
      try await connection.waitUntilClosed()
    }) { server, session in
      _ = try await session.data(from: server.url("/first"))
      try await loadAll(4, server, session)
      #expect(server.connectionCount == 1)
    }
  }

  @Test func aRequestMayAskForItself() async throws {
    try await run(
      byDefault: false,
      { connection in
        for target in try await Self.targets(1, connection) { try await connection.write(Self.answer(target)) }
        let targets = try await Self.targets(3, connection)
        try await connection.write(targets.map { Self.answer($0) }.joined())
        try await connection.waitUntilClosed()
      }
    ) { server, session in
      _ = try await session.data(from: server.url("/first"))
      try await loadAll(3, server, session, asking: true)
      #expect(server.connectionCount == 1)
    }
  }

  /// The connection ends after the first of four answers: the others are sent again, one after the other.
  @Test func whatIsLostIsSentAgain() async throws {
    try await run({ connection in
      for target in try await Self.targets(1, connection) { try await connection.write(Self.answer(target)) }
      guard connection.number == 1 else {
        while let target = try await Self.targets(1, connection).first {
          try await connection.write(Self.answer(target))
        }
        return
      }
      let targets = try await Self.targets(4, connection)
      if let first = targets.first { try await connection.write(Self.answer(first)) }
    }) { server, session in
      _ = try await session.data(from: server.url("/first"))
      try await loadAll(4, server, session)
      #expect(server.connectionCount == 2)
    }
  }

  /// A request that is given up can't be taken back: those before it are answered, those behind it are sent again.
  @Test func cancellingOneLosesNoOther() async throws {
    let seen = Gate()
    let mayAnswer = Gate()
    try await run({ connection in
      for target in try await Self.targets(1, connection) { try await connection.write(Self.answer(target)) }
      guard connection.number == 1 else {
        while let target = try await Self.targets(1, connection).first {
          try await connection.write(Self.answer(target))
        }
        return
      }
      let targets = try await Self.targets(3, connection)
      seen.open()
      try await mayAnswer.wait()
      try await connection.write(targets.map { Self.answer($0) }.joined())
      try await connection.waitUntilClosed()
    }) { server, session in
      _ = try await session.data(from: server.url("/first"))
      let loads = (0..<3).map { number in Task { try await session.data(from: server.url("/\(number)")).0 } }
      try await seen.wait(within: patience)
      loads[1].cancel()
      let cancelled = await loads[1].result
      mayAnswer.open()
      #expect(throws: (any Error).self) { try cancelled.get() }
      for index in [0, 2] {
        let data = try await loads[index].value
        #expect(String(decoding: data, as: UTF8.self) == "/\(index)")
      }
    }
  }

  /// What is not safe waits for its turn.
  @Test func postsWait() async throws {
    try await run({ connection in
      while let bytes = try await connection.read() {
        let text = String(decoding: bytes.readableBytesView, as: UTF8.self)
        // One request at a time, though three are to be sent.
        #expect(text.components(separatedBy: " HTTP/1.1").count == 2)
        try await connection.write(Self.answer("ok"))
      }
    }) { server, session in
      _ = try await session.data(from: server.url("/first"))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          group.addTask {
            var request = URLRequest(url: server.url("/post"))
            request.httpMethod = "POST"
            _ = try await session.data(for: request)
          }
        }
        try await group.waitForAll()
      }
      #expect(server.connectionCount == 1)
    }
  }
}
