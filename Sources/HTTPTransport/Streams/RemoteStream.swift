import NIOCore

/// A stream whose connection lives on another loop than the load: every step hops there and back.
final class RemoteStream: DuplexStream {
  private let stream: any DuplexStream
  private let executor: LoopExecutor

  init(_ stream: any DuplexStream, executor: LoopExecutor) {
    self.stream = stream
    self.executor = executor
  }

  private func remotely<Value: Sendable>(
    _ step: @escaping @Sendable (any DuplexStream) async throws -> Value
  ) async throws -> Value {
    let stream = self.stream
    let result = await executor.run {
      let result: Result<Value, any Error>
      do { result = .success(try await step(stream)) } catch { result = .failure(error) }
      return result
    }
    return try result.get()
  }

  func read() async throws -> ByteBuffer? { try await remotely { try await $0.read() } }

  func write(_ bytes: ByteBuffer) async throws { try await remotely { try await $0.write(bytes) } }

  func closeWrite() async throws { try await remotely { try await $0.closeWrite() } }

  func startTLS(_ terms: TLSTerms) async throws { try await remotely { try await $0.startTLS(terms) } }

  func end(sending last: ByteBuffer?, patience: TimeAmount) {
    let stream = self.stream
    executor.loop.execute { stream.end(sending: last, patience: patience) }
  }

  func unread(_ bytes: ByteBuffer) {
    let stream = self.stream
    executor.loop.execute { stream.unread(bytes) }
  }

  func close() {
    let stream = self.stream
    executor.loop.execute { stream.close() }
  }

  func whenInputEnds(_ action: @escaping @Sendable () -> Void) {
    let stream = self.stream
    executor.loop.execute { stream.whenInputEnds(action) }
  }
}
