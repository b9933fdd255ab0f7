import HTTPSemantics
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct RemoteExchangeTests {
  /// A load that has sent everything may ask again, once the last step of its upload is done.
  @Test func theEndOfTheBodyIsToldToEveryFurtherPull() async throws {
    let (home, other) = (try #require(LoopExecutor.all.first), try #require(LoopExecutor.all.last))
    let (bytes, ends) = try await Task(executorPreference: home) {
      let exchange = RemoteExchange(AnsweredExchange(body: ["a", "b"]), executor: other, home: home)
      var bytes = ""
      while let chunk = try await exchange.nextChunk() { bytes += String(buffer: chunk) }
      var ends = 0
      for _ in 0..<3 { if case .end = try exchange.takeBody() { ends += 1 } }
      return (bytes, ends)
    }.value
    #expect(bytes == "ab" && ends == 3)
  }
}

/// An exchange whose response is here. Confined to the one loop that uses it.
private final class AnsweredExchange: HTTPExchange, @unchecked Sendable {
  private var chunks: [String]
  let record = ExchangeRecord(connection: ConnectionRecord(), isReusedConnection: false)
  var trailers: HTTPFields? { nil }

  init(body: [String]) { chunks = body }

  func send(head: HTTPRequestHead, body: RequestBodyFraming) {}
  func write(_ bytes: ByteBuffer) {}
  func finish(trailers: HTTPFields?) {}
  func takeHead() -> HTTPResponseHead? { nil }
  func takeBody() -> ResponseBodyPart? { chunks.isEmpty ? .end : .bytes(ByteBuffer(string: chunks.removeFirst())) }
  func whenReadable(_ action: @escaping () -> Void) { action() }
  func end() {}
  func abort(_ error: any Error) {}
}
