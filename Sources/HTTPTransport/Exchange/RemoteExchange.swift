import HTTPSemantics
import NIOCore

/// An exchange whose connection lives on another loop than the load: every step hops there and back.
final class RemoteExchange: HTTPExchange, @unchecked Sendable {
  private let exchange: any HTTPExchange
  private let executor: LoopExecutor
  private(set) var record: ExchangeRecord
  private(set) var trailers: HTTPFields?

  init(_ exchange: any HTTPExchange, executor: LoopExecutor) {
    self.exchange = exchange
    self.executor = executor
    record = exchange.record
  }

  private func remotely<Value: Sendable>(
    _ step: @escaping @Sendable (any HTTPExchange) async throws -> Value
  ) async throws -> Value {
    let exchange = self.exchange
    let (result, record, trailers) = await executor.run {
      let result: Result<Value, any Error>
      do { result = .success(try await step(exchange)) } catch { result = .failure(error) }
      return (result, exchange.record, exchange.trailers)
    }
    self.record = record
    self.trailers = trailers
    return try result.get()
  }

  func send(head: HTTPRequestHead, body: RequestBodyFraming) async throws {
    try await remotely { try await $0.send(head: head, body: body) }
  }

  func write(_ bytes: ByteBuffer) async throws { try await remotely { try await $0.write(bytes) } }

  func finish(trailers: HTTPFields?) async throws { try await remotely { try await $0.finish(trailers: trailers) } }

  func nextHead() async throws -> HTTPResponseHead { try await remotely { try await $0.nextHead() } }

  func nextChunk() async throws -> ByteBuffer? { try await remotely { try await $0.nextChunk() } }

  func protocolChange() async throws -> ProtocolChange { try await remotely { try await $0.protocolChange() } }

  func takeOver() async throws -> any DuplexStream {
    RemoteStream(try await remotely { try await $0.takeOver() }, executor: executor)
  }

  func setPriority(_ value: String) {
    let exchange = self.exchange
    executor.loop.execute { exchange.setPriority(value) }
  }

  func abort(_ error: any Error) {
    let exchange = self.exchange
    executor.loop.execute { exchange.abort(error) }
  }

  func end() {
    let exchange = self.exchange
    executor.loop.execute { exchange.end() }
  }
}
