import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Bodies that are sent at a pace.
@Suite struct HTTPUploadPacingTests {
  /// Lets three pieces go, and the others when it is opened.
  private final class Pacing: BodyPacing, Sendable {
    struct State: Sendable {
      var pieces: [Int] = []
      var isOpen = false
      /// How often it was asked while it held the body back.
      var asked = 0
    }

    let state = Monitor(State())
    let largestPiece: Int? = 1_000

    var delay: TimeInterval {
      state.update {
        guard !$0.isOpen, $0.pieces.count >= 3 else { return 0 }
        $0.asked += 1
        return HTTPUploadPacingTests.idleTimeout / 10
      }
    }

    func waitEnded() {}

    func sent(_ bytes: Int) { state.update { $0.pieces.append(bytes) } }
  }

  private final class Client: LoadClient {}

  private static let size = 10_500
  private static let idleTimeout = 1.0

  /// Runs a load whose body goes at that pace. Returns the text of the answer.
  private func upload(to url: URL, _ pacing: Pacing, over transport: HTTPTransport) async throws -> String {
    var request = URLRequest(url: url)
    request.httpMethod = "PUT"
    let context = LoadContext(
      for: url, configuration: URLSessionConfiguration.loopback.loadConfiguration, transport: transport,
      client: Client())
    let ends = Recorder<Result<String, any Error>>()
    let loadRequest = LoadRequest(request, body: .data(Data(count: Self.size)))
    context.start { context in
      context.bodyPacing = pacing
      context.control.startTimers(idle: Self.idleTimeout, resource: 0)
      do {
        let loaded = try await LoadPipeline.load(loadRequest, in: context)
        var text = ""
        while let bytes = try await loaded.body.next() { text += String(buffer: bytes) }
        ends.record(.success(text))
      } catch { ends.record(.failure(error)) }
      context.control.finish()
    }
    return try await ends.next().get()
  }

  private func withServer(
    _ steps: [ReplyStep], _ body: @Sendable (URL, HTTPTransport, LoopbackServer) async throws -> Void
  ) async throws {
    var options = LoopbackServer.Options()
    options.onHead = { _ in .reply(Reply(steps)) }
    let server = try await LoopbackServer.start(options: options) { _ in .status(500) }
    let transport = HTTPTransport(configuration: URLSessionConfiguration.loopback.loadConfiguration.transport)
    do { try await body(server.url(), transport, server) } catch {
      transport.shutDown()
      await server.shutdown()
      throw error
    }
    transport.shutDown()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  private static let answer = [ReplyStep.head(200, fields: [("Content-Length", "2")]), .body("ok")]

  /// It is held back for longer than the idle time-out, which does not pass meanwhile.
  @Test func aBodyWaitsForItsPace() async throws {
    try await withServer([.readRequestBody()] + Self.answer) { url, transport, server in
      let pacing = Pacing()
      async let text = upload(to: url, pacing, over: transport)
      try await pacing.state.wait { $0.asked >= 15 ? () : nil }
      #expect(pacing.state.current.pieces == [1_000, 1_000, 1_000])
      pacing.state.update { $0.isOpen = true }
      #expect(try await text == "ok")
      #expect(pacing.state.current.pieces == [Int](repeating: 1_000, count: 10) + [500])
      #expect(server.requests.first?.body.count == Int64(Self.size))
    }
  }

  /// A server that has answered wants no more of the body.
  @Test func anAnswerEndsABodyThatIsHeldBack() async throws {
    let steps = [ReplyStep.readRequestBody(upTo: 3_000)] + Self.answer
    try await withServer(steps) { url, transport, _ in
      let pacing = Pacing()
      let text = try await upload(to: url, pacing, over: transport)
      #expect(text == "ok")
      #expect(pacing.state.current.pieces == [1_000, 1_000, 1_000])
    }
  }
}
