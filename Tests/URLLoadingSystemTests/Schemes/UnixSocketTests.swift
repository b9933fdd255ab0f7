import Foundation
import LoopbackServer
import NIOCore
import NIOPosix
import Testing
import URLLoadingSystem

/// Requests over sockets in the file system, as container tools take them.
@Suite struct UnixSocketTests {
  /// Answers every request with its request line and its Host; one for `/secret` only where it says who asks, one for `/old`
  /// with a redirect to `/new`.
  private final class Echo: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let lines = String(buffer: unwrapInboundIn(data)).components(separatedBy: "\r\n")
      let host = lines.first { $0.lowercased().hasPrefix("host:") } ?? ""
      if lines[0].contains("/secret"), !lines.contains("Authorization: \(basic("ann", "1"))") {
        let refusal = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"here\"\r\nContent-Length: 0\r\n\r\n"
        return context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: refusal)), promise: nil)
      }
      if lines[0].contains("/old") {
        let redirect = "HTTP/1.1 301 Moved\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n"
        return context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: redirect)), promise: nil)
      }
      let text = "\(lines[0]) \(host)"
      let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: \(text.utf8.count)\r\n\r\n"
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head + text)), promise: nil)
    }
  }

  private func withSocket(_ body: (_ path: String, _ connections: Recorder<Bool>) async throws -> Void) async throws {
    // Short: the path of a socket has 107 bytes at the most.
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("u\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("An API.sock").path
    let connections = Recorder<Bool>()
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        connections.record(true)
        return channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo()) }
      }
      .bind(unixDomainSocketPath: path).get()
    do { try await body(path, connections) } catch {
      try? await listener.close()
      throw error
    }
    try await listener.close()
  }

  private func url(_ path: String, _ rest: String) throws -> URL {
    let host = try #require(path.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    return try #require(URL(string: "http+unix://\(host)\(rest)"))
  }

  @Test(arguments: [("/v1/info?all=1#x", "/v1/info?all=1"), ("", "/"), ("?all", "/?all")])
  func aURLNamesTheSocket(rest: String, target: String) async throws {
    try await withSocket { path, connections in
      let session = URLSession(configuration: .ephemeral)
      for _ in 0..<2 {
        let (data, response) = try await session.data(from: url(path, rest))
        #expect(String(decoding: data, as: UTF8.self).lowercased() == "get \(target) http/1.1 host: localhost")
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
      }
      #expect(connections.count == 1)
      session.invalidateAndCancel()
    }
  }

  @Test func aRedirectLeadsToTheSameSocket() async throws {
    try await withSocket { path, connections in
      let session = URLSession(configuration: .ephemeral)
      let (data, response) = try await session.data(from: url(path, "/old"))
      #expect(String(decoding: data, as: UTF8.self).hasPrefix("GET /new"))
      #expect(try response.url == url(path, "/new"))
      #expect(connections.count == 1)
      session.invalidateAndCancel()
    }
  }

  /// Each socket is a server of its own, and so is a space.
  @Test func aServerBehindASocketAsksForACredential() async throws {
    try await withSocket { path, _ in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate)
      for _ in 0..<2 {
        let (data, _) = try await session.data(from: url(path, "/secret/a"))
        #expect(String(decoding: data, as: UTF8.self).hasPrefix("GET /secret/a"))
      }
      #expect(delegate.asked.all.map(\.protectionSpace.host) == [path])
      session.invalidateAndCancel()
    }
  }

  /// Neither a name server nor a proxy is asked.
  @Test func aConfigurationNamesTheSocket() async throws {
    try await withSocket { path, _ in
      let configuration = URLSessionConfiguration.ephemeral
      configuration.unixSocketPath = path
      configuration.connectionProxyDictionary = [
        kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: "127.0.0.1", kCFNetworkProxiesHTTPPort: 1,
      ]
      let session = URLSession(configuration: configuration)
      let url = try #require(URL(string: "http://engine.invalid:8080/info"))
      let (data, _) = try await session.data(from: url)
      #expect(String(decoding: data, as: UTF8.self).lowercased() == "get /info http/1.1 host: engine.invalid:8080")
      session.invalidateAndCancel()
    }
  }

  @Test(arguments: ["/no/such.sock", "/" + String(repeating: "x", count: 300)])
  func aSocketThatIsNotThereIsNamed(path: String) async throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let url = try url(path, "/info")
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.code == .cannotConnectToHost)
    #expect(error?.localizedDescription.contains(path) == true, "\(error as Any)")
  }

  @Test(arguments: ["http+unix://docker.sock/info", "http+unix:///info", "http+unix://%2Fa%00b/info"])
  func aHostThatIsNoPathIsNoURLOfASocket(text: String) async throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: text))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.code == .badURL || error?.code == .unsupportedURL)
  }
}
