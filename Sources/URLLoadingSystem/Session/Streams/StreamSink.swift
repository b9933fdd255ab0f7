import NIOCore

/// Stands for the stream task that a response became: its bytes are pulled by who reads the stream.
final class StreamSink: LoadSink {
  let streamTask: URLSessionStreamTask?

  init(task: URLSessionStreamTask) { streamTask = task }

  func receive(_ chunk: ByteBuffer, in context: LoadContext) async throws {}

  func finish(in context: LoadContext) async throws -> Received { .nothing }

  func abandon() async {}
}
