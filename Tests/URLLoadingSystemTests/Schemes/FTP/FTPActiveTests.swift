import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// `kCFNetworkProxiesFTPPassive` set to 0: the server connects to this machine.
@Suite struct FTPActiveTests {
  private func withActiveFTP(
    _ script: FTPScript, host: String = "127.0.0.1", timeout: TimeInterval = 60,
    _ body: (ScriptedFTPServer, URLSession) async throws -> Void
  ) async throws {
    try await withFTP(
      script, host: host,
      configure: {
        $0.connectionProxyDictionary = [kCFNetworkProxiesFTPPassive: 0]
        $0.timeoutIntervalForRequest = timeout
      }
    ) { server, session, _ in
      try await body(server, session)
      #expect(!server.commands.contains("EPSV") && server.data.connectionCount == 0)
    }
  }

  /// The port that the server was told to connect to is closed.
  private func expectClosedPort(_ server: ScriptedFTPServer) async throws {
    let command = try #require(server.commands.first { $0.hasPrefix("EPRT |1|127.0.0.1|") })
    let port = try #require(Int(command.split(separator: "|")[3]))
    try await withProxies({ $0.connectionProxyDictionary = [:] }) { session, _ in
      let error = await #expect(throws: URLError.self) {
        _ = try await session.data(from: url("http://127.0.0.1:\(port)/"))
      }
      #expect(error?.code == .cannotConnectToHost)
    }
  }

  @Test(arguments: ["127.0.0.1", "::1"]) func theServerConnects(host: String) async throws {
    try await withActiveFTP(.file(), host: host) { server, session in
      let url = try server.url("/a.txt", host: host == "::1" ? "[::1]" : host)
      let (data, response) = try await session.data(from: url)
      #expect(data == Data("hello\n".utf8) && response.expectedContentLength == 6)
      let isAnnounced = server.commands.contains { $0.hasPrefix("EPRT |\(host == "::1" ? 2 : 1)|\(host)|") }
      #expect(isAnnounced)
      if host != "::1" { try await expectClosedPort(server) }
    }
  }

  @Test func aServerThatKnowsOnlyPORT() async throws {
    try await withActiveFTP(.file().with { $0.answers["EPRT"] = "500 what?\r\n" }) { server, session in
      let (data, _) = try await session.data(from: server.url("/a.txt"))
      #expect(data.count == 6 && server.commands.contains { $0.hasPrefix("PORT 127,0,0,1,") })
    }
  }

  /// What comes from elsewhere is not the server's.
  @Test func aStrangerIsHungUpOn() async throws {
    try await withActiveFTP(.file().with { $0.isPrecededByAStranger = true }) { server, session in
      let (data, _) = try await session.data(from: server.url("/a.txt"))
      #expect(data == Data("hello\n".utf8))
    }
  }

  @Test(arguments: ["425 can't connect\r\n", "426 no\r\n", "226 fine\r\n", ""])
  func loadFailsWhenTheServerEndsWithoutConnecting(ending: String) async throws {
    let script = FTPScript.file().with {
      $0.neverConnects = true
      $0.ending = ending
    }
    try await withActiveFTP(script) { server, session in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/a.txt")) }
      #expect(error?.code == .networkConnectionLost, "\(error as Any)")
      try await expectClosedPort(server)
    }
  }

  /// The limit can pass before the port is announced, as on a busy machine; then a longer one is tried.
  @Test func loadTimesOutWhenTheServerNeverConnects() async throws {
    let script = FTPScript.file().with {
      // And then it does nothing.
      $0.answers["RETR"] = "150 here it comes\r\n"
    }
    var isAnnounced = false
    for timeout in [0.5, 4, 30] where !isAnnounced {
      try await withActiveFTP(script, timeout: timeout) { server, session in
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/a.txt")) }
        #expect(error?.code == .timedOut, "\(error as Any)")
        isAnnounced = server.commands.contains { $0.hasPrefix("EPRT") }
        if isAnnounced { try await expectClosedPort(server) }
      }
    }
    #expect(isAnnounced)
  }

  @Test(arguments: ["226 fine\r\n", "426 cut\r\n", ""]) func aTransferThatIsCut(ending: String) async throws {
    let script = FTPScript.file("a.txt", String(repeating: "x", count: 100_000)).with {
      $0.cut = 60_000
      $0.ending = ending
    }
    try await withActiveFTP(script) { server, session in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/a.txt")) }
      #expect(error?.code == .networkConnectionLost, "\(error as Any)")
    }
  }

  @Test(arguments: ["EPRT", "RETR"]) func whatIsRefused(verb: String) async throws {
    let script = FTPScript.file().with {
      $0.answers = [verb: "504 no\r\n", "PORT": "500 no\r\n"]
    }
    try await withActiveFTP(script) { server, session in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/a.txt")) }
      #expect(error?.code == .badServerResponse, "\(error as Any)")
      try await expectClosedPort(server)
    }
  }
}
