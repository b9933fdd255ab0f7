import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct TLSFailureSentenceTests {
  /// People read a sentence; the library's words are in the underlying error.
  @Test func aFailedHandshakeIsToldInASentence() async throws {
    var options = LoopbackServer.Options()
    options.greeting = { _ in .close }
    let server = try await LoopbackServer.start(tls: ServerTLS.localhost(), options: options) { _ in .ok("") }
    let session = URLSession(configuration: .loopback)
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
    session.invalidateAndCancel()
    #expect(error?.code == .secureConnectionFailed)
    #expect(
      error?.localizedDescription
        == "A secure connection could not be made: the server ended the connection during the TLS handshake.")
    #expect(error?.userInfo[NSUnderlyingErrorKey] != nil)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
