import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Control connections: which are kept, for which loads, and how many there are.
@Suite struct FTPConnectionTests {
  private static let files = FTPScript().with { $0.files = ["a.txt": [1], "b.txt": [2], "long.txt": [1, 2, 3]] }

  private func count(_ server: ScriptedFTPServer, _ command: String) -> Int {
    server.commands.filter { $0.hasPrefix(command) }.count
  }

  @Test func theNextLoadGoesOnWithTheConnection() async throws {
    try await withFTP(Self.files) { server, session, delegate in
      var answers: [Data] = []
      // A folder below the present one is reached from there.
      for path in ["/pub/a.txt", "/pub/b.txt", "/pub/deep/a.txt"] {
        answers.append(try await session.data(from: server.url(path)).0)
      }
      #expect(answers == [Data([1]), Data([2]), Data([1])])
      #expect(server.control.connectionCount == 1 && count(server, "USER") == 1 && count(server, "TYPE") == 1)
      #expect(server.commands.filter { $0.hasPrefix("CWD") } == ["CWD pub", "CWD deep"])
      #expect(count(server, "NOOP") == 2)
      let reused = try await [delegate.metrics.next(), delegate.metrics.next(), delegate.metrics.next()]
        .map { $0.transactionMetrics.last?.isReusedConnection }
      #expect(reused == [false, true, true])
    }
  }

  /// Where the login's folder is, the client does not know.
  @Test func aFolderThatCanNotBeReachedNeedsAnotherConnection() async throws {
    try await withFTP(Self.files) { server, session, _ in
      _ = try await session.data(from: server.url("/pub/a.txt"))
      _ = try await session.data(from: server.url("/a.txt"))
      #expect(server.control.connectionCount == 2)
      // The root is reached from everywhere.
      _ = try await session.data(from: server.url("//etc/a.txt"))
      #expect(server.control.connectionCount == 2)
    }
  }

  @Test func aFailureThatTheServerAnsweredLeavesTheConnection() async throws {
    try await withFTP(Self.files) { server, session, _ in
      let url = try server.url("/missing.txt")
      await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      _ = try await session.data(from: server.url("/a.txt"))
      #expect(server.control.connectionCount == 1)
    }
  }

  /// A server that was told an offset, and did not begin to send, may keep the offset for the next file.
  @Test func anOffsetThatWasNotUsedEndsTheConnection() async throws {
    try await withFTP(Self.files.with { $0.answers["RETR"] = "450 busy\r\n" }) { server, session, _ in
      var part = URLRequest(url: try server.url("/long.txt"))
      part.setValue("bytes=1-", forHTTPHeaderField: "Range")
      await #expect(throws: URLError.self) { _ = try await session.data(for: part) }
      let url = try server.url("/a.txt")
      await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(count(server, "REST") == 1 && server.control.connectionCount == 2)
    }
  }

  @Test func anotherUserAndAnotherSessionHaveTheirOwn() async throws {
    try await withFTP(Self.files) { server, session, _ in
      _ = try await session.data(from: server.url("/a.txt", user: "ann:x@"))
      _ = try await session.data(from: server.url("/a.txt", user: "bob:x@"))
      _ = try await session.data(from: server.url("/a.txt", user: "ann:y@"))
      let other = URLSession(configuration: .ephemeral)
      _ = try await other.data(from: server.url("/a.txt", user: "ann:x@"))
      other.invalidateAndCancel()
      #expect(server.control.connectionCount == 4 && count(server, "NOOP") == 0)
    }
  }

  /// A kept connection that the server has given up is no failure of the next load.
  @Test(arguments: ["421 you were idle\r\n", "530 log in\r\n"]) func aConnectionThatIsOfNoUseIsReplaced(
    answer: String
  ) async throws {
    try await withFTP(Self.files.with { $0.answers["NOOP"] = answer }) { server, session, _ in
      for _ in 0..<2 { _ = try await session.data(from: server.url("/a.txt")) }
      #expect(server.control.connectionCount == 2)
    }
  }

  @Test(arguments: [1, 2]) func noMoreConnectionsAreMadeThanTheSessionMay(limit: Int) async throws {
    let script = Self.files
    try await withFTP(script, configure: { $0.httpMaximumConnectionsPerHost = limit }) { server, session, _ in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          let url = try server.url("/a.txt")
          group.addTask {
            let data = try await session.data(from: url).0
            #expect(data == Data([1]))
          }
        }
        try await group.waitForAll()
      }
      #expect(server.control.connectionCount <= limit && count(server, "USER") <= limit)
    }
  }

  @Test func aLoadThatWaitsForAConnectionCanBeCancelled() async throws {
    let script = FTPScript().with { $0.files = ["big": Array(repeating: 7, count: 64 << 20)] }
    try await withFTP(script, configure: { $0.httpMaximumConnectionsPerHost = 1 }) { server, session, delegate in
      let (bytes, _) = try await session.bytes(from: server.url("/big"))
      let waiting = session.dataTask(with: try server.url("/big"))
      waiting.resume()
      waiting.cancel()
      try await delegate.done.wait(within: patience)
      #expect(delegate.errors.all.map(\.code) == [.cancelled])
      withExtendedLifetime(bytes) {}
      #expect(server.control.connectionCount == 1)
    }
  }
}
