import Foundation
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

/// WebSockets in streams of HTTP/3 (RFC 9220).
@Suite(.fewAtATime, .enabled(if: HTTP3Support.runsHere && PythonHTTP3.server.runsHere, "\(HTTP3Support.advice)"))
struct HTTP3WebSocketTests {
  private func withServer(
    offersConnect: Bool = true, _ body: (RealServer, URLSession, TransactionLog) async throws -> Void
  ) async throws {
    let identity = try TestCertificates.shared().localhost
    let server = try await PythonHTTP3.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile), offersConnect: offersConnect)
    try await HTTP3Support.withSession(trusting: identity.authorityFile, ports: [server.port]) { session, log in
      try await body(server, session, log)
    } finally: {
      await server.stop()
    }
  }

  private func socketRequest(_ server: RealServer) throws -> URLRequest {
    HTTP3Support.request(try #require(URL(string: "wss://localhost:\(server.port)/socket")))
  }

  @Test func messagesOfEverySizeComeBack() async throws {
    try await withServer { server, session, log in
      let task = session.webSocketTask(with: try socketRequest(server))
      task.maximumMessageSize = 4 << 20
      task.resume()
      for size in [0, 1, 125, 126, 65_535, 65_536, 300_003] {
        let bytes = Data(BytePattern(seed: UInt64(size)).bytes(count: size))
        try await task.send(.data(bytes))
        guard case .data(let answer) = try await task.receive() else {
          Issue.record("bytes came back as text")
          return
        }
        #expect(answer.count == size && BytePattern(seed: UInt64(size)).matches(answer))
      }
      try await task.send(.string("κόσμος"))
      guard case .string("κόσμος") = try await task.receive() else {
        Issue.record("the text did not come back")
        return
      }
      #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
      #expect((task.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Way") == "h3")
      task.cancel(with: .goingAway, reason: nil)
      try await eventually("the transaction of the WebSocket") { log.protocols == ["h3"] }
    }
  }

  /// The stream is one of a connection that serves other requests too.
  @Test func socketsAndRequestsShareAConnection() async throws {
    try await withServer { server, session, log in
      let url = try #require(URL(string: "https://localhost:\(server.port)/hello"))
      _ = try await session.data(for: HTTP3Support.request(url))
      let tasks = try (0..<4).map { _ in session.webSocketTask(with: try socketRequest(server)) }
      for task in tasks { task.resume() }
      for (index, task) in tasks.enumerated() {
        try await task.send(.string("\(index)"))
        guard case .string(let answer) = try await task.receive() else { continue }
        #expect(answer == "\(index)")
        _ = try await session.data(for: HTTP3Support.request(url))
      }
      for task in tasks { task.cancel(with: .normalClosure, reason: nil) }
      try await eventually("the transactions") { log.all.count == 9 }
      #expect(Set(log.all.compactMap(\.localPort)).count == 1)
    }
  }

  @Test func aServerThatEndsIsAnError() async throws {
    try await withServer { server, session, _ in
      let task = session.webSocketTask(with: try socketRequest(server))
      task.resume()
      try await task.send(.string("a"))
      _ = try await task.receive()
      await server.stop()
      await #expect(throws: URLError.self) {
        try await task.send(.string("b"))
        _ = try await task.receive()
      }
    }
  }

  /// Without the setting another way is looked for, and nothing serves it here over TCP.
  @Test func aServerThatDoesNotOfferItIsAskedOverTCP() async throws {
    try await withServer(offersConnect: false) { server, session, _ in
      let task = session.webSocketTask(with: try socketRequest(server))
      task.resume()
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == .secureConnectionFailed || error?.code == .networkConnectionLost)
      let url = try #require(URL(string: "https://localhost:\(server.port)/hello"))
      _ = try await session.data(for: HTTP3Support.request(url))
    }
  }
}
