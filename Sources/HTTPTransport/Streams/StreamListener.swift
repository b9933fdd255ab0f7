import NIOCore
import NIOPosix

/// Waits for one connection from one address, for protocols whose servers connect to their clients. Others are hung up
/// on. Confined to its loop.
package final class StreamListener: @unchecked Sendable {
  private let listener: any Channel
  private var result: Result<any DuplexStream, any Error>?
  private var waiter: UnsafeContinuation<any DuplexStream, any Error>?
  /// Whether the connection has an owner.
  private var isHandedOver = false

  /// Listens where `local` is, on a port of the kernel's choice, for whoever comes from the address of `remote`. On the
  /// loop of `executor`.
  package static func open(
    at local: SocketAddress, for remote: SocketAddress, on executor: LoopExecutor
  ) async throws -> StreamListener {
    var address = local
    address.port = 0
    let arrivals = Arrivals(from: remote.ipAddress)
    let binding = ServerBootstrap(group: executor.loop)
      .serverChannelOption(.backlog, value: 4)
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Arrival { arrivals.take(channel) })
        }
      }
      .bind(to: address)
    let bound: Result<any Channel, any Error> = await withUnsafeContinuation { continuation in
      binding.assumeIsolated().whenComplete { continuation.resume(returning: $0) }
    }
    do { return StreamListener(try bound.get(), arrivals) } catch {
      throw TransportError.cannotConnect(
        host: local.ipAddress ?? "", port: 0, reason: "this machine can't listen for the server's connection: \(error)")
    }
  }

  private init(_ listener: any Channel, _ arrivals: Arrivals) {
    self.listener = listener
    arrivals.onStream = { [weak self] stream in
      guard let self, self.result == nil else { return stream.close() }
      self.settle(.success(stream))
    }
  }

  deinit { listener.close(promise: nil) }

  /// Where it listens.
  package var port: Int { listener.localAddress?.port ?? 0 }

  /// Waits for the connection, and listens no more. Call once.
  package func stream() async throws -> any DuplexStream {
    isHandedOver = true
    if let result { return try result.get() }
    return try await withUnsafeThrowingContinuation { waiter = $0 }
  }

  /// Listens no more; `stream()` throws `error`, if it has not returned.
  package func abort(_ error: any Error) {
    if !isHandedOver, case .success(let stream) = result { stream.close() }
    settle(.failure(error))
  }

  private func settle(_ outcome: Result<any DuplexStream, any Error>) {
    listener.close(promise: nil)
    guard result == nil else { return }
    result = outcome
    let waiter = self.waiter
    self.waiter = nil
    waiter?.resume(with: outcome)
  }

  /// What comes, as far as it comes from the right place.
  private final class Arrivals: @unchecked Sendable {
    private let peer: String?
    var onStream: (any DuplexStream) -> Void = { $0.close() }

    init(from peer: String?) { self.peer = peer }

    func take(_ channel: any Channel) {
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
