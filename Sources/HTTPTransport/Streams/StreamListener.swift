import NIOCore
import NIOPosix

/// Waits for one connection from one address, for protocols whose servers connect to their clients. Connections from
/// elsewhere are closed. Confined to its loop.
package final class StreamListener: @unchecked Sendable {
  private let listener: any Channel
  private let result: LoopResult<any DuplexStream>
  private var arrived: (any DuplexStream)?
  /// Whether the connection has an owner.
  private var isHandedOver = false

  /// Listens where `local` is, on a port of the kernel's choice, for a connection from the address of `remote`. On the loop
  /// of `executor`.
  package static func open(
    at local: SocketAddress, for remote: SocketAddress, on executor: LoopExecutor
  ) async throws -> StreamListener {
    var address = local
    address.port = 0
    let arrivals = Arrivals(from: remote.ipAddress, on: executor.loop)
    let binding = ServerBootstrap(group: executor.loop)
      .serverChannelOption(.backlog, value: 4)
      .serverChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { channel.closeOnExec() } }
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          channel.closeOnExec()
          try channel.pipeline.syncOperations.addHandler(Arrival { arrivals.take(channel) })
        }
      }
      .bind(to: address)
    do { return StreamListener(try await binding.valueOnLoop(), arrivals) } catch {
      throw TransportError.cannotConnect(
        host: local.ipAddress ?? "", port: 0, reason: "this machine can't listen for the server's connection: \(error)")
    }
  }

  private init(_ listener: any Channel, _ arrivals: Arrivals) {
    self.listener = listener
    result = LoopResult(on: listener.eventLoop)
    arrivals.onStream = { [weak self] stream in
      guard let self, !self.result.isSet else { return stream.close() }
      self.arrived = stream
      self.settle(.success(stream))
    }
  }

  deinit { listener.close(promise: nil) }

  /// The port that it listens on.
  package var port: Int {
    listener.eventLoop.assertInEventLoop()
    return listener.localAddress?.port ?? 0
  }

  /// Waits for the connection, and listens no more. Call once.
  package func stream() async throws -> any DuplexStream {
    listener.eventLoop.assertInEventLoop()
    isHandedOver = true
    return try await result.get()
  }

  /// Listens no more; `stream()` throws `error`, if it has not returned.
  package func abort(_ error: any Error) {
    listener.eventLoop.assertInEventLoop()
    if !isHandedOver { arrived?.close() }
    settle(.failure(error))
  }

  private func settle(_ outcome: Result<any DuplexStream, any Error>) {
    listener.close(promise: nil)
    result.set(outcome)
  }

  /// Sorts the connections that come by where they come from.
  private final class Arrivals: @unchecked Sendable {
    private let peer: String?
    private let loop: any EventLoop
    var onStream: (any DuplexStream) -> Void = { $0.close() }

    init(from peer: String?, on loop: any EventLoop) {
      self.peer = peer
      self.loop = loop
    }

    func take(_ channel: any Channel) {
      loop.assertInEventLoop()
      let stream = SocketStream(channel: channel)
      guard let peer, channel.remoteAddress?.ipAddress == peer, (try? stream.activate()) != nil else {
        return channel.close(promise: nil)
      }
      onStream(stream)
    }
  }

  /// Tells that a connection is there.
  private final class Arrival: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let arrived: () -> Void

    init(_ arrived: @escaping () -> Void) { self.arrived = arrived }

    func channelActive(context: ChannelHandlerContext) {
      arrived()
      context.fireChannelActive()
    }
  }
}
