import Foundation
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

/// WebSocket tasks with Python's `websockets` at the other end: reached directly, or through HAProxy, which takes them in
/// streams of HTTP/2 (RFC 8441).
@Suite(
  .enabled(if: PythonWebSockets.runsHere, "\(PythonWebSockets.advice)"),
  .enabled(if: HAProxy.installed.runsHere, "\(HAProxy.installed.advice)"))
struct WebSocketServerTests {
  private typealias Message = URLSessionWebSocketTask.Message

  enum Way: String, Sendable, CaseIterable {
    case http1, http2
  }

  /// - Parameter body: gets the server, and where its paths are reached.
  private func withPeer(
    over way: Way = .http1, _ body: (RealServer, (String) -> URL) async throws -> Void
  ) async throws {
    let identity = try TestCertificates.shared().localhost
    let tls = TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
    let server = try await PythonWebSockets.start(tls: tls)
    var proxy: RealServer?
    do {
      if way == .http2 { proxy = try await HAProxy.start(tls: tls, inFrontOf: server) }
      try await body(server) { [proxy] in socketURL(proxy?.secureURL($0) ?? server.url($0)) }
    } catch {
      await proxy?.stop()
      await server.stop()
      throw error
    }
    await proxy?.stop()
    await server.stop()
  }

  /// One that trusts the proxy's certificate.
  private func makeSession() throws -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.trustRoots = .file(try TestCertificates.shared().authorityFile)
    return URLSession(configuration: configuration)
  }

  /// 101 over HTTP/1.1, 200 over HTTP/2.
  private func expectStatus(of task: URLSessionTask, over way: Way) {
    #expect((task.response as? HTTPURLResponse)?.statusCode == (way == .http1 ? 101 : 200))
  }

  private func socketURL(_ url: URL) -> URL { URL(string: "ws" + url.absoluteString.dropFirst(4)) ?? url }

  /// Every size around the boundaries of frames, as text and as bytes, with and without compression.
  @Test(
    arguments: [
      "/echo", "/plain", "/deflate/server_no_context_takeover", "/deflate/client_no_context_takeover",
      "/deflate/server_max_window_bits=9/client_max_window_bits=9", "/deflate/client_max_window_bits=8",
      "/deflate/server_no_context_takeover/client_no_context_takeover/client_max_window_bits=10",
    ], Way.allCases)
  func everySizeComesBack(_ path: String, _ way: Way) async throws {
    try await withPeer(over: way) { _, url in
      let session = try makeSession()
      defer { session.invalidateAndCancel() }
      let task = session.webSocketTask(with: url(path))
      task.maximumMessageSize = 32 << 20
      task.resume()
      var sizes = [0, 1, 31, 32, 125, 126, 127, 128, 65_535, 65_536, 65_537, 131_072, 131_073, 1_000_003]
      if path == "/echo" { sizes.append(16 << 20) }
      for size in sizes {
        let text = String(repeating: "κ", count: size / 2) + (size % 2 == 1 ? "a" : "")
        try await task.send(.string(text))
        guard case .string(let answer) = try await task.receive() else {
          Issue.record("a text of \(size) bytes came back as bytes")
          return
        }
        #expect(answer == text, "\(size) bytes of text")
        var seed = UInt64(size)
        let bytes = Data(
          (0..<size).map { _ in
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: seed >> 56)
          })
        try await task.send(.data(bytes))
        guard case .data(let back) = try await task.receive() else {
          Issue.record("\(size) bytes came back as text")
          return
        }
        #expect(back == bytes, "\(size) bytes")
      }
      expectStatus(of: task, over: way)
      task.cancel(with: .normalClosure, reason: nil)
    }
  }

  @Test(arguments: Way.allCases) func manyMessagesKeepTheirOrder(_ way: Way) async throws {
    try await withPeer(over: way) { _, url in
      let session = try makeSession()
      defer { session.invalidateAndCancel() }
      let task = session.webSocketTask(with: url("/echo"))
      task.resume()
      let count = 2_000
      for number in 0..<count { task.send(.string("message \(number)")) { _ in } }
      for number in 0..<count {
        guard case .string(let text) = try await task.receive() else { return }
        #expect(text == "message \(number)")
      }
    }
  }

  @Test(arguments: Way.allCases) func subprotocolsFragmentsAndPings(_ way: Way) async throws {
    try await withPeer(over: way) { _, url in
      let session = try makeSession()
      defer { session.invalidateAndCancel() }
      let chat = session.webSocketTask(with: url("/upper"), protocols: ["chat", "other"])
      chat.resume()
      guard case .string(let chosen) = try await chat.receive() else { return }
      #expect(chosen == "chat")
      try await chat.send(.string("quiet"))
      guard case .string(let loud) = try await chat.receive() else { return }
      #expect(loud == "QUIET")
      let pongs = Recorder<Bool>()
      for _ in 0..<3 { chat.sendPing { pongs.record($0 == nil) } }
      let heard = try await pongs.first(3)
      #expect(heard == [true, true, true])

      let fragments = session.webSocketTask(with: url("/fragments"))
      fragments.resume()
      try await fragments.send(.string("50"))
      guard case .string(let joined) = try await fragments.receive() else { return }
      #expect(joined == (0..<50).map { "\($0);" }.joined())

      let pinged = session.webSocketTask(with: url("/ping"))
      pinged.resume()
      guard case .string(let polo) = try await pinged.receive() else { return }
      #expect(polo == "polo")
    }
  }

  @Test(arguments: [(1000, ""), (1001, "away"), (3000, "registered"), (4321, "größer")], Way.allCases)
  func theServerCloses(_ close: (Int, String), _ way: Way) async throws {
    let (code, reason) = close
    try await withPeer(over: way) { _, url in
      let session = try makeSession()
      defer { session.invalidateAndCancel() }
      let path = "/close/\(code)/\(reason.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
      let task = session.webSocketTask(with: url(path))
      task.resume()
      try await task.send(.string("go"))
      let error = await #expect(throws: POSIXError.self) { _ = try await task.receive() }
      #expect(error?.code == .ENOTCONN)
      #expect(task.closeCode.rawValue == code)
      let text = task.closeReason.map { String(decoding: $0, as: UTF8.self) } ?? ""
      #expect(text.removingPercentEncoding == reason)
    }
  }

  @Test func anUntrustedServer() async throws {
    try await withPeer { server, _ in
      let session = URLSession(configuration: .ephemeral)
      defer { session.invalidateAndCancel() }
      let untrusted = session.webSocketTask(with: socketURL(server.secureURL("/echo")))
      untrusted.resume()
      let refused = await #expect(throws: URLError.self) { _ = try await untrusted.receive() }
      #expect(refused?.code == .serverCertificateHasUnknownRoot)
    }
  }

  @Test(arguments: Way.allCases) func refusedAndRedirected(_ way: Way) async throws {
    try await withPeer(over: way) { _, url in
      let session = try makeSession()
      defer { session.invalidateAndCancel() }
      let barred = session.webSocketTask(with: url("/private"))
      barred.resume()
      let error = await #expect(throws: URLError.self) { _ = try await barred.receive() }
      #expect(error?.code == .badServerResponse)
      #expect((barred.response as? HTTPURLResponse)?.statusCode == 401)

      var request = URLRequest(url: url("/private"))
      request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
      for task in [session.webSocketTask(with: request), session.webSocketTask(with: url("/moved"))] {
        task.resume()
        try await task.send(.string("hello"))
        guard case .string(let text) = try await task.receive() else { return }
        #expect(text == "hello")
        expectStatus(of: task, over: way)
      }
    }
  }
}
