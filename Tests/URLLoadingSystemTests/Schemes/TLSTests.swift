import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct TLSTests {
  private func session(trusting file: String?) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    if let file { configuration.trustRoots = .file(file) }
    return URLSession(configuration: configuration)
  }

  @Test(arguments: ["localhost", "127.0.0.1"])
  func aTrustedServerIsLoaded(_ host: String) async throws {
    let certificates = try TestCertificates.shared()
    let count: Int64 = 5_000_000
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .pattern(BytePattern(), count: count) }
    let session = session(trusting: certificates.authorityFile)
    for _ in 0..<2 {
      let (data, _) = try await session.data(from: server.url("/", host: host))
      #expect(Int64(data.count) == count && BytePattern().matches(data))
    }
    #expect(server.connectionCount == 1)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// Without a closure alert the end of the connection may be an attacker's: a body that ends there is cut short.
  @Test func aBodyThatEndsWithoutAnAlertIsCutShort() async throws {
    let certificates = try TestCertificates.shared()
    let reply = Reply([.head(200, fields: []), .body("half"), .closeAbruptly])
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in reply }
    let session = session(trusting: certificates.authorityFile)
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
    #expect(error?.code == .networkConnectionLost)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func plainTextFromATLSPortIsAnError() async throws {
    let server = try await LoopbackServer.startRaw { connection in
      _ = try await connection.read()
      try await connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    }
    let session = session(trusting: nil)
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.code == .secureConnectionFailed)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// The server was there: it is the handshake that failed.
  @Test func aResetInTheMiddleOfTheHandshakeIsAnError() async throws {
    let server = try await LoopbackServer.startRaw { connection in
      _ = try await connection.read()
      connection.reset()
    }
    let session = session(trusting: nil)
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.code == .secureConnectionFailed, "\(String(describing: error))")
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A server that takes the connection and never shakes hands holds nothing open once nobody waits.
  @Test func aHandshakeThatNeverEndsIsGivenUp() async throws {
    let server = try await LoopbackServer.startRaw { try await $0.waitUntilClosed() }
    let session = session(trusting: nil)
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    session.dataTask(with: url).resume()
    try await server.waitForOpenConnections(1)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
