import NIOCore
import NIOHTTP2

/// HTTP/2 on one accepted connection, in front of the same scripts as HTTP/1: each stream is served by a task of its own.
///
/// The framing is swift-nio-http2's, so that a client's framing meets one that was written by others.
final class HTTP2Front: Sendable {
  private let connection: ServerConnection
  private let service: Service
  private let streams = Monitor<[Task<Void, Never>]>([])

  init(connection: ServerConnection, service: Service) {
    self.connection = connection
    self.service = service
  }

  /// Takes over the connection's pipeline, on its loop, the moment the client has agreed to HTTP/2.
  func install(on channel: any Channel) throws {
    var configuration = NIOHTTP2Handler.ConnectionConfiguration()
    configuration.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: service.options.http2Streams),
      HTTP2Setting(parameter: .maxHeaderListSize, value: 1 << 20),
    ]
    if service.options.http2ConnectProtocol {
      configuration.initialSettings.append(HTTP2Setting(parameter: .enableConnectProtocol, value: 1))
    }
    // Scripts may announce lengths that they do not keep.
    configuration.contentLengthValidation = .disabled
    var streamConfiguration = NIOHTTP2Handler.StreamConfiguration()
    streamConfiguration.streamResetFrameRateLimit.maximumCount = 1_000_000
    configuration.maximumRecentlyResetStreams = 1_000
    let handler = NIOHTTP2Handler(
      mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: configuration,
      streamConfiguration: streamConfiguration
    ) { [self] stream in
      stream.eventLoop.makeCompletedFuture { try accept(stream) }
    }
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(handler)
    try pipeline.addHandler(HTTP2FailureHandler(connection: connection))
    try channel.syncOptions?.setOption(.autoRead, value: true)
  }

  private func accept(_ channel: any Channel) throws {
    try channel.syncOptions?.setOption(.autoRead, value: false)
    let stream = ServerStream(channel: channel)
    try channel.pipeline.syncOperations.addHandler(HTTP2StreamHandler(stream: stream))
    let number = streams.current.count
    let task = Task(executorPreference: ServerLoops.executor(of: channel.eventLoop)) { [self] in
      await HTTP2Conversation(stream: stream, index: number, connection: connection, service: service).run()
    }
    streams.update { $0.append(task) }
    channel.closeFuture.whenComplete { _ in task.cancel() }
  }

  /// Returns when the connection is closed and no script runs on it any more.
  func run() async {
    try? await connection.waitUntilClosed()
    for task in streams.current {
      task.cancel()
      await task.value
    }
  }

  /// Tells the client that no further streams are served, closes its own side, and waits for the client to close too: the
  /// end of a connection on which something is still coming in would be a reset, and take with it what was sent.
  static func closeGracefully(_ connection: ServerConnection) async {
    let frame = HTTP2Frame(
      streamID: .rootStream, payload: .goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil))
    try? await connection.channel.writeAndFlush(frame).get()
    try? await connection.channel.close(mode: .output).get()
    try? await within(patience, "the client to close") { try await connection.waitUntilClosed() }
    connection.closeAbruptly()
  }
}

/// At the end of the pipeline: what the framing complains about is a failure of the client.
private final class HTTP2FailureHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame

  private let connection: ServerConnection

  init(connection: ServerConnection) { self.connection = connection }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    connection.channelFailed(error)
    context.close(promise: nil)
  }
}
