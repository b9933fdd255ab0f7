import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Resumable uploads of a session that has classes of `URLProtocol`.
@Suite struct ResumableUploadProtocolTests {
  /// Wants every request that the library makes about an upload, and not the one of the app.
  private final class Interfering: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.httpMethod != "POST" }
    override func startLoading() { client?.urlProtocol(self, didFailWithError: URLError(.unknown)) }
  }

  @Test func theRestTravelsTheWayThatTheBeginningWent() async throws {
    let script = UploadScript(
      post: [UploadScript.cut(after: 200_000)], head: [UploadScript.has(200_000)],
      patch: [UploadScript.take(201, text: "whole")])
    try await script.run { server in
      let configuration = URLSessionConfiguration.loopback
      configuration.protocolClasses = [Interfering.self]
      let session = URLSession(configuration: configuration)
      let (data, response) = try await session.upload(for: UploadScript.request(server), from: UploadScript.body)
      #expect((response as? HTTPURLResponse)?.statusCode == 201 && String(decoding: data, as: UTF8.self) == "whole")
      #expect(server.requests.map(\.method) == ["POST", "HEAD", "PATCH"])
      session.invalidateAndCancel()
    }
  }
}
