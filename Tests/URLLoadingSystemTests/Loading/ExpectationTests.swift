import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// 417 (RFC 9110 §15.5.18): somebody on the way does not know the expectation.
@Suite(.overHTTP1To3) struct ExpectationTests {
  private func request(_ server: LoopbackServer) -> URLRequest {
    var request = URLRequest(url: server.url())
    request.httpMethod = "PUT"
    request.setValue("100-continue", forHTTPHeaderField: "Expect")
    return request
  }

  @Test func theRequestIsSentAgainWithoutIt() async throws {
    var options = LoopbackServer.Options()
    options.onHead = { head in head.value("Expect") == nil ? .readBody : .reply(.status(417)) }
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls(), options: options) { .ok($0.body.text) }
    let session = URLSession(configuration: .loopback)
    let (data, response) = try await session.upload(for: request(server), from: Data("the body".utf8))
    #expect((response as? HTTPURLResponse)?.statusCode == 200)
    #expect(String(decoding: data, as: UTF8.self) == "the body")
    #expect(server.heads.map { $0.value("Expect") } == ["100-continue", nil])
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A 417 that no expectation explains is a response like any other, also the second one.
  @Test func onlyOnce() async throws {
    try await withServer({ _ in .status(417, body: "never") }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      let (data, response) = try await session.upload(for: request(server), from: Data("body".utf8))
      #expect((response as? HTTPURLResponse)?.statusCode == 417)
      #expect(String(decoding: data, as: UTF8.self) == "never")
      #expect(server.requests.count == 2)
    }
  }
}
