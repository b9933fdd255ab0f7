import Foundation
import HTTPTransport
import LoopbackServer
import NIOCore
import RealServers
import SystemFakes
import Testing
import URLLoadingSystem

/// HTTP/3 with a server that people run.
@Suite(.fewAtATime, .enabled(if: HTTP3Support.runsHere && InstalledServer.caddy.runsHere, "\(HTTP3Support.advice)"))
struct HTTP3ServerTests {
  /// A session that knows the test authority, and what its transactions were.
  private func withCaddy(
    protocols: String = "h1 h2 h3", backend: Int? = nil, trusts: Bool = true,
    headStart: TimeAmount = .seconds(60), configure: (URLSessionConfiguration) -> Void = { _ in },
    _ body: (RealServer, URLSession, TransactionLog) async throws -> Void
  ) async throws {
    let identity = try TestCertificates.shared().localhost
    let server = try await Caddy.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile), protocols: protocols,
      backend: backend)
    try "small".write(toFile: server.documentRoot + "/text.txt", atomically: false, encoding: .utf8)
    try await HTTP3Support.withSession(
      trusting: trusts ? identity.authorityFile : nil, ports: [try #require(server.securePort)],
      headStart: headStart, configure: configure
    ) { session, log in
      try await body(server, session, log)
    } finally: {
      await server.stop()
    }
  }

  @Test func anAssumedServerIsLoadedOverHTTP3AtOnce() async throws {
    try await withCaddy { server, session, log in
      let (data, response) = try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt")))
      #expect(String(decoding: data, as: UTF8.self) == "small")
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
      let transaction = try #require(log.all.last)
      #expect(transaction.networkProtocolName == "h3")
      #expect(transaction.remotePort == server.securePort)
      #expect(transaction.negotiatedTLSProtocolVersion == .TLSv13)
      #expect(transaction.secureConnectionEndDate != nil && transaction.connectStartDate != nil)
    }
  }

  /// The first answer announces HTTP/3; that connection is made beside the second request, and serves the later ones.
  @Test func anAnnouncementLeadsToHTTP3() async throws {
    try await withCaddy { server, session, log in
      for _ in 0..<200 where !log.protocols.contains("h3") {
        _ = try await session.data(from: server.secureURL("/text.txt"))
      }
      #expect(log.all.first?.networkProtocolName == "h2")
      #expect(log.protocols == ["h2", "h3"])
    }
  }

  @Test func manyAtOnceShareOneConnection() async throws {
    try await withCaddy { server, session, log in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<300 {
          group.addTask {
            let (data, _) = try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt")))
            #expect(String(decoding: data, as: UTF8.self) == "small")
          }
        }
        try await group.waitForAll()
      }
      #expect(log.protocols == ["h3"])
      #expect(Set(log.all.compactMap(\.localPort)).count == 1)
    }
  }

  @Test func aLargeFileArrivesWhole() async throws {
    try await withCaddy { server, session, log in
      let large = FileResource.Version(size: 64 << 20)
      try large.pattern.write(toFile: server.documentRoot + "/large", count: large.size)
      let (data, _) = try await session.data(for: HTTP3Support.request(server.secureURL("/large")))
      #expect(Int64(data.count) == large.size && large.pattern.matches(data))
      let (file, _) = try await session.download(for: HTTP3Support.request(server.secureURL("/large")))
      #expect(try large.pattern.matches(Data(contentsOf: file)))
      try? FileManager.default.removeItem(at: file)
      #expect(log.protocols == ["h3"])
    }
  }

  @Test func redirectsAreFollowed() async throws {
    try await withCaddy { server, session, log in
      let (data, response) = try await session.data(for: HTTP3Support.request(server.secureURL("/old")))
      #expect(String(decoding: data, as: UTF8.self) == "small")
      #expect(response.url == server.secureURL("/text.txt"))
      #expect(log.protocols == ["h3"])
    }
  }

  /// A reader that stops holds the server up, not the memory; the end comes when it goes on.
  @Test func bytesAreReadAsTheReaderGoesOn() async throws {
    try await withCaddy { server, session, log in
      let large = FileResource.Version(size: 24 << 20)
      try large.pattern.write(toFile: server.documentRoot + "/large", count: large.size)
      let (bytes, _) = try await session.bytes(for: HTTP3Support.request(server.secureURL("/large")))
      var count: Int64 = 0
      for try await _ in bytes { count += 1 }
      #expect(count == large.size)
      #expect(log.protocols == ["h3"])
    }
  }

  @Test func aCancelledLoadLeavesTheConnection() async throws {
    try await withCaddy { server, session, log in
      let large = FileResource.Version(size: 64 << 20)
      try large.pattern.write(toFile: server.documentRoot + "/large", count: large.size)
      let (bytes, _) = try await session.bytes(for: HTTP3Support.request(server.secureURL("/large")))
      for try await _ in bytes.prefix(1_000) {}
      bytes.task.cancel()
      _ = try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt")))
      #expect(log.protocols == ["h3"])
      #expect(Set(log.all.compactMap(\.localPort)).count == 1)
    }
  }

  @Test func aServerWithoutHTTP3IsLoadedOverTCP() async throws {
    try await withCaddy(protocols: "h1 h2") { server, session, log in
      for _ in 0..<2 {
        let (data, _) = try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt")))
        #expect(String(decoding: data, as: UTF8.self) == "small")
      }
      #expect(log.protocols == ["h2"])
    }
  }

  /// On a network that drops datagrams the request waits for the head start only, and the next one not at all.
  @Test func aSilentNetworkCostsTheHeadStart() async throws {
    try await withCaddy(protocols: "h1 h2", headStart: .milliseconds(250)) { server, session, log in
      let silence = try await SilentSocket.open(port: try #require(server.securePort))
      let (data, _) = try await session.data(
        for: HTTP3Support.request(server.secureURL("/text.txt", host: "127.0.0.1")))
      #expect(String(decoding: data, as: UTF8.self) == "small")
      _ = try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt", host: "127.0.0.1")))
      #expect(log.protocols == ["h2"])
      #expect(silence.received > 0)
      await silence.close()
    }
  }

  /// Where nothing listens is remembered, until there is another network.
  @Test func anotherNetworkIsTriedAnew() async throws {
    let networks = FakeNetworks()
    try await withCaddy(protocols: "h1 h2", headStart: .milliseconds(250), configure: { $0.networks = networks }) {
      server, session, log in
      let request = HTTP3Support.request(server.secureURL("/text.txt", host: "127.0.0.1"))
      _ = try await session.data(for: request)
      #expect(networks.isObserved)
      let silence = try await SilentSocket.open(port: try #require(server.securePort))
      _ = try await session.data(for: request)
      #expect(silence.received == 0)
      networks.become([])
      _ = try await session.data(for: request)
      #expect(silence.received > 0)
      #expect(log.protocols == ["h2"])
      await silence.close()
    }
    #expect(!networks.isObserved)
  }

  @Test func anUntrustedServerIsRefused() async throws {
    try await withCaddy(trusts: false) { server, session, _ in
      await #expect(throws: URLError.self) {
        try await session.data(for: HTTP3Support.request(server.secureURL("/text.txt")))
      }
    }
  }

  @Test func anUploadArrivesBehindAProxy() async throws {
    var options = LoopbackServer.Options()
    options.recordBodies = .keep(16 << 20)
    let echo = try await LoopbackServer.start(options: options) { request in .ok(request.body.bytes) }
    try await withCaddy(backend: echo.port) { server, session, log in
      let large = FileResource.Version(size: 8 << 20)
      let body = Data(large.pattern.bytes(count: Int(large.size)))
      var request = HTTP3Support.request(server.secureURL("/backend/echo"))
      request.httpMethod = "POST"
      let (answer, _) = try await session.upload(for: request, from: body)
      // A comparison that fails would look for the difference, byte by byte.
      #expect(answer.count == body.count && large.pattern.matches(answer))
      #expect(log.protocols == ["h3"])
    }
    await echo.shutdown()
  }

  /// RFC 7838 §5: requests to a service that the server has announced name it.
  @Test func requestsNameTheAnnouncedService() async throws {
    let backend = try await LoopbackServer.start { request in
      .ok(request.fields.first { $0.name.lowercased() == "alt-used" }?.value ?? "none")
    }
    try await withCaddy(backend: backend.port) { server, session, log in
      let port = try #require(server.securePort)
      let url = server.secureURL("/backend/")
      let assumed = try await session.data(for: HTTP3Support.request(url)).0
      #expect(String(decoding: assumed, as: UTF8.self) == "none")
      await session.flush()
      for _ in 0..<200 {
        let before = log.all.count
        let name = String(decoding: try await session.data(from: url).0, as: UTF8.self)
        let isOverQUIC = log.all.dropFirst(before).last?.networkProtocolName == "h3"
        #expect(name == (isOverQUIC ? "localhost:\(port)" : "none"))
        if isOverQUIC { break }
      }
      #expect(log.protocols.contains("h3"))
    }
    await backend.shutdown()
  }
}
