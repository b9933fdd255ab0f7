import Foundation
import HTTPTransport
import NIOCore
import NIOPosix
import SystemServices
import TransferProtocol

/// Numbers requests, matches replies, passes pushes on.
///
/// Confined to its channel's loop, but for `connect` and `request`.
final class ServiceConnectionHandler: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer

  // Sendable by hand: what changes is confined to the loop, which is asserted.
  private let loop = LoopExecutor.all[0].loop
  private let onPush: @Sendable (ServicePush) -> Void
  private let onClose: @Sendable () -> Void
  private var decoder = MessageDecoder<ServiceMessage>()
  private var waiting: [UInt64: CheckedContinuation<ServiceReply, any Error>] = [:]
  private var lastID: UInt64 = 0
  private var end: ServiceUnavailable?
  /// Whether the service has greeted: before, there is no connection whose end could be told.
  private var isGreeted = false

  init(onPush: @escaping @Sendable (ServicePush) -> Void, onClose: @escaping @Sendable () -> Void) {
    self.onPush = onPush
    self.onClose = onClose
  }

  func connect(to path: String) async throws -> any Channel {
    try await ClientBootstrap(group: loop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(self) }
      }
      .connect(unixDomainSocketPath: path).get()
  }

  /// The process that listens there.
  func peer(of channel: any Channel) async throws -> PeerCredentials {
    guard let provider = channel as? any SocketOptionProvider else { throw ChannelError.operationUnsupported }
    return try await provider.unsafeGetSocketOption(
      level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET), name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
    ).get()
  }

  /// Ends the connection after a while, unless the timer is cancelled.
  func close(_ channel: any Channel, in patience: TimeAmount) -> Scheduled<Void> {
    channel.eventLoop.scheduleTask(in: patience) {
      self.finish("it accepted the connection and gave no answer")
      channel.close(promise: nil)
    }
  }

  func request(_ request: ClientRequest, on channel: any Channel) async throws -> ServiceReply {
    let reply = try await withCheckedThrowingContinuation { continuation in
      channel.eventLoop.execute { self.send(request, on: channel, continuation) }
    }
    if case .refused(let refusal) = reply { throw refusal }
    return reply
  }

  private func send(
    _ request: ClientRequest, on channel: any Channel, _ continuation: CheckedContinuation<ServiceReply, any Error>
  ) {
    loop.assertInEventLoop()
    if let end { return continuation.resume(throwing: end) }
    lastID &+= 1
    do {
      let frame = try MessageFraming.frame(ClientMessage(id: lastID, request: request))
      waiting[lastID] = continuation
      channel.writeAndFlush(ByteBuffer(bytes: frame), promise: nil)
    } catch { continuation.resume(throwing: error) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    loop.assertInEventLoop()
    decoder.append(unwrapInboundIn(data).readableBytesView)
    do {
      while let message = try decoder.next() {
        switch message {
        case .reply(let id, let reply):
          guard let continuation = waiting.removeValue(forKey: id) else { break }
          if case .hello = reply { isGreeted = true }
          continuation.resume(returning: reply)
        // Before, it is not known what listens.
        case .push(let push): if isGreeted { onPush(push) }
        }
      }
    } catch {
      finish("\(error)")
      context.close(promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    finish("\(error)")
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    finish("the connection to it ended")
    if isGreeted { onClose() }
  }

  private func finish(_ reason: String) {
    loop.assertInEventLoop()
    guard end == nil else { return }
    let unavailable = ServiceUnavailable(reason: reason)
    end = unavailable
    let unanswered = waiting.values
    waiting = [:]
    for continuation in unanswered { continuation.resume(throwing: unavailable) }
  }
}
