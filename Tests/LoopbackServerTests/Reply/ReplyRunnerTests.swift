import NIOCore
import Synchronization
import Testing

@testable import LoopbackServer

@Suite struct ReplyRunnerTests {
  /// Takes pieces of body and notes how much was counted when each came; from a given piece on it refuses them.
  private final class Sink: ReplySink {
    private let counted: () -> Int
    private let limit: Int
    private(set) var countedAtPiece: [Int] = []

    struct Refused: Error {}

    init(taking limit: Int, counted: @escaping () -> Int) {
      self.limit = limit
      self.counted = counted
    }

    func body(_ bytes: ByteBuffer) async throws {
      countedAtPiece.append(counted())
      if countedAtPiece.count > limit { throw Refused() }
    }

    func chunk(_ bytes: ByteBuffer) async throws { try await body(bytes) }
    func informational(_ status: Int, fields: HeaderList) async throws {}
    func head(_ status: Int, reason: String?, fields: HeaderList) async throws {}
    func raw(_ bytes: ByteBuffer) async throws {}
    func trailers(_ fields: HeaderList) async throws {}
    func readRequestBody(upTo limit: Int64?) async throws {}
    func end(_ ending: ReplyEnding) async throws {}
    func handOver(to script: @Sendable (ServerConnection) async throws -> Void) async throws {}
  }

  private static let steps: [ReplyStep] = [
    .bytes(Array(repeating: 1, count: 10)), .chunk(Array(repeating: 1, count: 20)),
    .pattern(BytePattern(), count: 300_000), .patternChunks(BytePattern(), count: 30, each: 20),
  ]

  /// The client may have a piece before the server's write returns: it must find it counted.
  @Test func aPieceIsCountedBeforeItIsSent() async throws {
    let count = Mutex(0)
    var reply = Reply(Self.steps)
    reply.onBodySent = { more in count.withLock { $0 += more } }
    let sink = Sink(taking: .max) { count.withLock { $0 } }
    var runner = ReplyRunner(reply)
    try await runner.perform(on: sink)
    #expect(sink.countedAtPiece == [10, 30, 262_174, 300_030, 300_050, 300_060])
    #expect(count.withLock { $0 } == 300_060)
  }

  @Test func aPieceThatIsNotTakenIsNotCounted() async throws {
    let count = Mutex(0)
    var reply = Reply(Self.steps)
    reply.onBodySent = { more in count.withLock { $0 += more } }
    let sink = Sink(taking: 2) { count.withLock { $0 } }
    var runner = ReplyRunner(reply)
    await #expect(throws: Sink.Refused.self) { try await runner.perform(on: sink) }
    #expect(count.withLock { $0 } == 30)
  }
}
