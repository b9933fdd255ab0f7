import Foundation
import HTTPTransport
import NIOCore
import NIOPosix
import SystemServices
import TransferProtocol

/// A conversation with the transfer service over its Unix socket: requests answered in order, and pushes.
///
/// May be used from any thread; the socket lives on one event loop, and `onPush` and `onClose` are called there.
package final class ServiceConnection: Sendable {
  private let channel: any Channel
  private let conversation: Conversation
  /// The service's greeting.
  package let service: ServiceVersion

  private init(channel: any Channel, conversation: Conversation, service: ServiceVersion) {
    self.channel = channel
    self.conversation = conversation
    self.service = service
  }

  deinit { channel.close(promise: nil) }

  /// Connects and greets. Starts the service when none runs, unless `startsService` is false.
  ///
  /// - Throws: `ServiceUnavailable` when there is no service and none could be started, `Refusal` when the two sides
  ///   have no version in common.
  package static func open(
    startsService: Bool = true, onPush: @escaping @Sendable (ServicePush) -> Void = { _ in },
    onClose: @escaping @Sendable () -> Void = {}
  ) async throws -> ServiceConnection {
    // A service that is about to end says so; the next one is there a moment later.
    let deadline = ContinuousClock.now + .seconds(5)
    while true {
      do {
        return try await openOnce(startsService: startsService, onPush: onPush, onClose: onClose)
      } catch let refusal as Refusal where refusal.reason == .shuttingDown && ContinuousClock.now < deadline {
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }

  private static func openOnce(
    startsService: Bool, onPush: @escaping @Sendable (ServicePush) -> Void, onClose: @escaping @Sendable () -> Void
  ) async throws -> ServiceConnection {
    let location = try ServiceLocation()
    let conversation = Conversation(onPush: onPush, onClose: onClose)
    let channel = try await ServiceLauncher(location: location)
      .connect(startsService: startsService) { path in try await conversation.connect(to: path) }
    let greeting = ClientRequest.hello(Hello(client: "URLLoadingSystem"))
    do {
      guard case .hello(let hello) = try await conversation.request(greeting, on: channel) else {
        throw ServiceUnavailable(reason: "what listens on \(location.socket) is not the transfer service")
      }
      return ServiceConnection(channel: channel, conversation: conversation, service: hello.service)
    } catch {
      channel.close(promise: nil)
      throw error
    }
  }

  /// Sends one request and waits for its reply. Throws the service's `Refusal`, or `ServiceUnavailable` when the
  /// connection ends first.
  package func request(_ request: ClientRequest) async throws -> ServiceReply {
    try await conversation.request(request, on: channel)
  }

  package func close() { channel.close(promise: nil) }
}

/// Why there is no talking to the transfer service.
package struct ServiceUnavailable: Error, CustomStringConvertible {
  package let reason: String
  package var description: String { "The transfer service is not available: \(reason)." }
}

/// Numbers requests, matches replies, passes pushes on. Confined to its channel's loop after `connect`.
private final class Conversation: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer

  private let onPush: @Sendable (ServicePush) -> Void
  private let onClose: @Sendable () -> Void
  private var decoder = MessageDecoder<ServiceMessage>()
  private var waiting: [UInt64: CheckedContinuation<ServiceReply, any Error>] = [:]
  private var lastID: UInt64 = 0
  private var end: ServiceUnavailable?

  init(onPush: @escaping @Sendable (ServicePush) -> Void, onClose: @escaping @Sendable () -> Void) {
    self.onPush = onPush
    self.onClose = onClose
  }

  func connect(to path: String) async throws -> any Channel {
    try await ClientBootstrap(group: LoopExecutor.all[0].loop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(self) }
      }
      .connect(unixDomainSocketPath: path).get()
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
    if let end { return continuation.resume(throwing: end) }
    lastID &+= 1
    do {
      let frame = try MessageFraming.frame(ClientMessage(id: lastID, request: request))
      waiting[lastID] = continuation
      channel.writeAndFlush(ByteBuffer(bytes: frame), promise: nil)
    } catch { continuation.resume(throwing: error) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    decoder.append(unwrapInboundIn(data).readableBytesView)
    do {
      while let message = try decoder.next() {
        switch message {
        case .reply(let id, let reply): waiting.removeValue(forKey: id)?.resume(returning: reply)
        case .push(let push): onPush(push)
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
    onClose()
  }

  private func finish(_ reason: String) {
    guard end == nil else { return }
    let unavailable = ServiceUnavailable(reason: reason)
    end = unavailable
    let unanswered = waiting.values
    waiting = [:]
    for continuation in unanswered { continuation.resume(throwing: unavailable) }
  }
}
