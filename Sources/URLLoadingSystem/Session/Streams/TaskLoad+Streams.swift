import Foundation
import HTTPTransport
import NIOCore

/// Serving a stream task over an open connection: one that was made for it, or one that a response leaves to it.
extension TaskLoad {
  /// A response has become a stream task.
  func serve(
    _ task: URLSessionStreamTask, _ loaded: LoadedResponse, in context: LoadContext
  ) async throws -> Received {
    context.loop.assertInEventLoop()
    let stream: any DuplexStream
    do {
      // The connection itself would pass by the proof that covers the body.
      guard loaded.bodyProof == nil else { throw ErrorMapping.cancelled }
      stream = try await loaded.body.takeOver()
    } catch {
      // HTTP delimits what comes, or the body is judged at its end: there is nothing to write to.
      stream = ResponseStream(loaded.body, on: context.loop)
      task.operations.add(.closeWrite)
    }
    context.control.stopTimers()
    return try await serve(task, over: stream, to: StreamServer(task.presentRequest?.url), in: context)
  }

  /// Does what the app asks of `stream`, until there is nothing left to do.
  /// - Parameter server: Named in the TLS handshake, where one is asked for; nil when it is not known.
  func serve(
    _ task: URLSessionStreamTask, over stream: any DuplexStream, to server: StreamServer?, in context: LoadContext
  ) async throws -> Received {
    context.loop.assertInEventLoop()
    if let lane = delivery?.lane { task.operations.use(lane) }
    let session = self.session
    let conversation = StreamConversation(task: task, stream: stream, context: context) {
      guard let server else {
        throw ErrorMapping.make(.badURL, because: "The URL of the response names no host for a TLS handshake.")
      }
      try await server.secure(stream, in: context)
    } tell: { [delivery] notice in
      switch notice {
      case .readClosed: delivery?.post(.readClosed) { $0.stream?.urlSession(session, readClosedFor: task) }
      case .writeClosed: delivery?.post(.writeClosed) { $0.stream?.urlSession(session, writeClosedFor: task) }
      }
    }
    guard case .captured(let unread) = try await conversation.run() else { return .nothing }
    do { try await handOver(stream, unread, of: task, in: context) } catch {
      stream.close()
      throw error
    }
    return .nothing
  }

  /// The connection becomes two streams of the app's, and the task is silent from then on.
  private func handOver(
    _ stream: any DuplexStream, _ unread: ByteBuffer, of task: URLSessionStreamTask, in context: LoadContext
  ) async throws {
    let (local, descriptor) = try await StreamPair.open(on: context.executor)
    let executor = context.executor
    let relay = StreamRelay(local, stream, on: context.loop)
    let socket = CapturedSocket(descriptor) { executor.loop.execute { relay.abandon() } }
    let note: @Sendable (any Error) -> Void = { [weak socket] in socket?.note($0) }
    Task(executorPreference: executor) { await relay.run(first: unread, on: executor, onFailure: note) }
    let session = self.session
    delivery?.post(.becameStreams) {
      $0.stream?.urlSession(
        session, streamTask: task, didBecome: CapturedInputStream(socket), outputStream: CapturedOutputStream(socket))
    }
    task.silence()
  }
}
