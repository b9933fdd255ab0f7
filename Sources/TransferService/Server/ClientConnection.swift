import Foundation
import Logging
import NIOCore
import Synchronization
import SystemServices
import TransferProtocol

/// One app's connection: bytes to requests, replies and pushes to bytes.
///
/// A connection that says no hello, or begins a message and does not end it, is closed after a while; before hello it may
/// send little.
///
/// It reads no further while too many of its requests, or requests of too many bytes, are unanswered or their answers
/// unread, so an app that asks
/// without reading does not fill the memory of the service. Requests whose answer waits for the disk are not among them:
/// the engine limits them, so that an app that cancels many tasks while the disk is full is still served.
final class ClientConnection: ChannelDuplexHandler, ServiceClient, @unchecked Sendable {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  let id: UInt64
  let peer: PeerIdentity
  private let channel: any Channel
  private let engine: TransferEngine
  private let quota: ConnectionQuota
  private let log: Logger

  // Confined to the loop.
  private var decoder: MessageDecoder<ClientMessage>
  private var unanswered = UnansweredRequests()
  private var wantsToRead = false
  private var patience: ConnectionPatience
  private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
  /// Counted in the quota.
  private var heldBytes = 0

  private let postponed: Mutex<Set<UInt64>> = Mutex([])

  init(
    id: UInt64, peer: PeerIdentity, channel: any Channel, engine: TransferEngine, limits: ConnectionLimits,
    quota: ConnectionQuota, log: Logger
  ) {
    self.id = id
    self.peer = peer
    self.channel = channel
    self.engine = engine
    self.quota = quota
    self.log = log
    decoder = MessageDecoder(lengthLimit: limits.bytesBeforeHello)
    unanswered.maximumByteCount = limits.bytesBeforeHello
    patience = ConnectionPatience(limits: limits, openedAt: .now())
  }

  // MARK: ServiceClient, from any thread

  var canTakeMore: Bool { channel.isWritable }

  func send(_ message: ServiceMessage) {
    let frame: Data
    do { frame = try MessageFraming.frame(message) } catch {
      log.error("a message to process \(peer.process.pid) could not be made: \(error)")
      // The app must not connect again and ask the same for ever.
      if case .reply(let id, let reply) = message, case MessageFramingError.tooLong = error {
        if case .refused = reply { return close() }
        return send(.reply(to: id, .refused(Refusal(.tooLarge, "The answer is longer than a message may be."))))
      }
      return close()
    }
    guard case .reply(let request, _) = message else {
      return channel.writeAndFlush(ByteBuffer(bytes: frame), promise: nil)
    }
    let written = channel.eventLoop.makePromise(of: Void.self)
    // Counted until its answer has been read, so that the answers of an app that does not read have a limit too.
    written.futureResult.whenComplete { _ in
      if self.postponed.withLock({ $0.remove(request) }) == nil { self.answered(request) }
    }
    channel.writeAndFlush(ByteBuffer(bytes: frame), promise: written)
  }

  func postpone(_ request: UInt64) {
    // An app may use a number again; the second request of it counts on.
    let isNew = postponed.withLock { $0.insert(request).inserted }
    if isNew { channel.eventLoop.execute { self.answered(request) } }
  }

  func close() { channel.close(promise: nil) }

  // MARK: The loop

  func channelActive(context: ChannelHandlerContext) {
    channel.eventLoop.assertInEventLoop()
    engine.connected(self)
    watchTime()
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    channel.eventLoop.assertInEventLoop()
    decoder.append(unwrapInboundIn(data).readableBytesView)
    do {
      var endsMessage = false
      while let message = try decoder.next() {
        endsMessage = true
        if case .hello = message.request { takeHello() }
        unanswered.add(message.id, length: decoder.lastLength)
        engine.received(message, from: self)
      }
      try hold(decoder.bufferedCount)
      patience.received(endsMessage: endsMessage, begins: decoder.bufferedCount > 0, at: .now())
      watchTime()
    } catch let error as ConnectionQuota.Exceeded {
      log.warning("the connection of process \(peer.process.pid) is closed: \(error)")
      context.close(promise: nil)
    } catch {
      log.warning("process \(peer.process.pid) (\(peer.executable.path)) sent \("\(error)".logText)")
      context.close(promise: nil)
    }
  }

  func read(context: ChannelHandlerContext) {
    channel.eventLoop.assertInEventLoop()
    if unanswered.allowMore { return context.read() }
    wantsToRead = true
    patience.paused()
    watchTime()
  }

  private func takeHello() {
    patience.saidHello()
    decoder.lengthLimit = MessageFraming.maximumLength
    unanswered.maximumByteCount = MessageFraming.maximumLength
  }

  private func hold(_ count: Int) throws {
    guard count != heldBytes else { return }
    try quota.changeHeldBytes(by: count - heldBytes, of: peer.executable.path)
    heldBytes = count
  }

  private func watchTime() {
    channel.eventLoop.assertInEventLoop()
    let deadline = patience.deadline
    guard timer?.deadline != deadline else { return }
    timer?.task.cancel()
    timer = deadline.map { deadline in
      (deadline, channel.eventLoop.scheduleTask(deadline: deadline) { [weak self] in self?.timePassed() })
    }
  }

  private func timePassed() {
    channel.eventLoop.assertInEventLoop()
    timer = nil
    guard let fault = patience.fault(at: .now()) else { return watchTime() }
    log.warning("the connection of process \(peer.process.pid) (\(peer.executable.path)) is closed: it \(fault)")
    channel.close(promise: nil)
  }

  private func answered(_ request: UInt64) {
    channel.eventLoop.assertInEventLoop()
    unanswered.remove(request)
    if wantsToRead, unanswered.allowMore {
      wantsToRead = false
      patience.resumed(at: .now())
      watchTime()
      channel.read()
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    channel.eventLoop.assertInEventLoop()
    if context.channel.isWritable { engine.becameWritable(self) }
    context.fireChannelWritabilityChanged()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    channel.eventLoop.assertInEventLoop()
    log.debug("the connection of process \(peer.process.pid) failed: \(error)")
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    channel.eventLoop.assertInEventLoop()
    timer?.task.cancel()
    timer = nil
    // Fewer are never too many.
    try? hold(0)
    engine.disconnected(self)
    context.fireChannelInactive()
  }
}
