import NIOCore
import NIOPosix
import Synchronization

/// Stands between clients and a server of datagrams on this machine, and does to them what a course says. A client gets a
/// socket of its own towards the server.
package final class DatagramRelay: Sendable {
  package struct Options: Sendable {
    package var host = "127.0.0.1"
    /// 0 lets the kernel choose.
    package var port = 0
    package var course = DatagramCourse()
    /// How many clients, the first, are served; the datagrams of the others are lost.
    package var clients = Int.max
    /// Datagrams that answer a client's first, before the server can.
    package var forge: @Sendable (_ first: [UInt8]) -> [[UInt8]] = { _ in [] }

    package init() {}
  }

  private let front: any Channel
  private let handler: FrontHandler
  package let port: Int

  private init(front: any Channel, handler: FrontHandler) {
    self.front = front
    self.handler = handler
    port = front.localAddress?.port ?? 0
  }

  /// - Parameter server: the port of 127.0.0.1 to which datagrams go.
  package static func start(to server: Int, options: Options = Options()) async throws -> DatagramRelay {
    let loop = ServerLoops.group.next()
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: server)
    let handler = FrontHandler(server: address, options: options, loop: loop)
    let front = try await DatagramBootstrap(group: loop)
      .channelOption(.socketOption(.so_rcvbuf), value: 2 << 20)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(handler) }
      }
      .bind(host: options.host, port: options.port).get()
    return DatagramRelay(front: front, handler: handler)
  }

  /// From now on all datagrams are lost.
  package func block() { handler.isBlocked.withLock { $0 = true } }

  /// How many clients have sent something.
  package var clients: Int { handler.clientCount.withLock { $0 } }

  package func close() async {
    try? await front.close().get()
    await handler.close()
  }
}

/// Confined to its loop.
private final class FrontHandler: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  let isBlocked = Mutex(false)
  let clientCount = Mutex(0)
  private let server: SocketAddress
  private let options: DatagramRelay.Options
  private let loop: any EventLoop
  private var course: DatagramCourse
  private var backs: [SocketAddress: EventLoopFuture<any Channel>] = [:]
  private var front: (any Channel)?

  init(server: SocketAddress, options: DatagramRelay.Options, loop: any EventLoop) {
    self.server = server
    self.options = options
    self.loop = loop
    course = options.course
  }

  func channelActive(context: ChannelHandlerContext) { front = context.channel }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    loop.assertInEventLoop()
    let envelope = unwrapInboundIn(data)
    let bytes = Array(buffer: envelope.data)
    let client = envelope.remoteAddress
    front = context.channel
    if backs[client] == nil {
      let count = clientCount.withLock { count in
        count += 1
        return count
      }
      guard count <= options.clients else { return }
      backs[client] = connect(for: client)
      for datagram in options.forge(bytes) { deliver(datagram, to: client) }
    }
    guard let back = backs[client] else { return }
    pass(bytes, .toServer) { bytes in
      back.whenSuccess {
        $0.writeAndFlush(AddressedEnvelope(remoteAddress: self.server, data: ByteBuffer(bytes: bytes)), promise: nil)
      }
    }
  }

  /// A socket that listens nowhere is an error of the next read.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {}

  private func connect(for client: SocketAddress) -> EventLoopFuture<any Channel> {
    DatagramBootstrap(group: loop)
      .channelOption(.socketOption(.so_rcvbuf), value: 2 << 20)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            BackHandler { bytes in self.pass(bytes, .toClient) { self.deliver($0, to: client) } })
        }
      }
      .connect(to: server)
  }

  private func deliver(_ bytes: [UInt8], to client: SocketAddress) {
    front?.writeAndFlush(AddressedEnvelope(remoteAddress: client, data: ByteBuffer(bytes: bytes)), promise: nil)
  }

  private func pass(
    _ bytes: [UInt8], _ direction: DatagramCourse.Direction, _ deliver: @escaping @Sendable ([UInt8]) -> Void
  ) {
    loop.assertInEventLoop()
    guard !isBlocked.withLock({ $0 }) else { return }
    for delivery in course.deliveries(of: bytes, direction) {
      guard delivery.milliseconds > 0 else {
        deliver(delivery.bytes)
        continue
      }
      loop.scheduleTask(in: .milliseconds(Int64(delivery.milliseconds))) { deliver(delivery.bytes) }
    }
  }

  func close() async {
    let all = try? await loop.submit { Array(self.backs.values) }.get()
    for back in all ?? [] { try? await back.flatMap { $0.close() }.get() }
  }
}

/// Takes what the server sends to one client.
private final class BackHandler: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private let received: ([UInt8]) -> Void

  init(_ received: @escaping ([UInt8]) -> Void) { self.received = received }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    context.eventLoop.assertInEventLoop()
    received(Array(buffer: unwrapInboundIn(data).data))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
