import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

/// What a failed handshake comes to, against servers that make it fail.
@Suite struct TLSLibraryFailureTests {
  private func failure(
    at server: LoopbackServer, _ change: (inout TransportConfiguration) -> Void = { _ in }
  ) async throws -> TLSLibraryFailure? {
    var configuration = try TransportOnLoop.trusting()
    change(&configuration)
    let key = ConnectionKey(scheme: .https, host: "127.0.0.1", port: server.port)
    let error = try await TransportOnLoop.run(configuration) { loop -> TransportError? in
      await #expect(throws: TransportError.self) { _ = try await loop.exchange(key) }
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
    guard case .tlsHandshakeFailed(.library(let failure))? = error else {
      Issue.record("\(String(describing: error))")
      return nil
    }
    return failure
  }

  @Test func aServerThatEndsTheConnection() async throws {
    var options = LoopbackServer.Options()
    options.greeting = { _ in .close }
    let server = try await LoopbackServer.start(tls: ServerTLS.localhost(), options: options) { _ in .ok("") }
    let found = try await failure(at: server)
    #expect(found?.kind == .connectionEnded)
  }

  @Test func aServerThatSpeaksNoTLS() async throws {
    let server = try await LoopbackServer.startRaw { connection in
      _ = try await connection.read()
      try await connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
      while try await connection.read() != nil {}
    }
    let found = try await failure(at: server)
    #expect(found?.kind == .notTLS)
  }

  @Test func aServerOfAnOlderVersion() async throws {
    var tls = try ServerTLS.localhost()
    tls.maximumVersion = .tlsv12
    let server = try await LoopbackServer.start(tls: tls) { _ in .ok("") }
    let found = try await failure(at: server) { $0.minimumTLSVersion = .tlsv13 }
    #expect(found?.kind == .noCommonVersion)
  }

  @Test(
    arguments: [
      ("EOF during handshake", .connectionEnded), ("wrong version number", .notTLS),
      ("tlsv1 alert protocol version", .noCommonVersion), ("sslv3 alert handshake failure", .noCommonParameters),
      ("tlsv1 unrecognized name", .unknownName), ("something new", .unknown),
    ] as [(String, TLSLibraryFailure.Kind)])
  func theLibrarysWordsDecide(_ words: String, _ kind: TLSLibraryFailure.Kind) {
    struct Words: Error, CustomStringConvertible { let description: String }
    let failure = TLSLibraryFailure(Words(description: words))
    #expect(failure.kind == kind && failure.text == words)
  }
}
