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
///
/// While the open files of a request are awaited the loop reads nothing (`ClientConnection+Files.swift`).
final class ClientConnection: ChannelDuplexHandler, ServiceClient, @unchecked Sendable {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  let id: UInt64
  let peer: PeerIdentity
  let channel: any Channel
  let engine: TransferEngine
  private let quota: ConnectionQuota
  let files: ConnectionFiles
  let limits: ConnectionLimits
  let log: Logger

  // Confined to the loop.
  private var decoder: MessageDecoder<ClientMessage>
  private var unanswered = UnansweredRequests()
  private var wantsToRead = false
  private var patience: ConnectionPatience
  private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
  /// Counted in the quota.
  private var heldBytes = 0
  private var hasSaidHello = false
  /// Counted in the quota.
  private var uses: Set<ConnectionQuota.Use> = []
  /// The request whose open files are awaited; nil when there is none.
  var awaitedFiles: AwaitedFiles?

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
    self.limits = limits
    files = ConnectionFiles(quota, program: peer.executable.path)
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
      // An event that is too long would be sent again and again, and keep those behind it from the app.
      if case .push(.event(let event)) = message, case MessageFramingError.tooLong = error,
        let shorter = event.shortened
      {
        return send(.push(.event(shorter)))
      }
      return close()
    }
    guard case .reply(let request, _) = message else {
      return channel.writeAndFlush(ByteBuffer(bytes: frame), promise: nil)
    }
    _ = files.take(request)
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

  func takeFiles(of request: UInt64) -> PassedFiles? { files.take(request) }

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
      guard awaitedFiles == nil else { throw ConnectionFiles.Fault.bytes }
      var endsMessage = false
      while let message = try decoder.next() {
        endsMessage = true
        if case .hello = message.request { takeHello() }
        unanswered.add(message.id, length: decoder.lastLength)
        if let exceeded = takeUse(of: message.request) {
          log.notice("process \(peer.process.pid) was refused for now: \(exceeded)")
          send(.reply(to: message.id, .refused(exceeded.refusal)))
        } else if hasSaidHello, case .createTasks(let creation) = message.request, let count = creation.files {
          try awaitFiles(count, of: message)
          // The app waits until it is asked for them.
          guard awaitedFiles == nil || decoder.bufferedCount == 0 else { throw ConnectionFiles.Fault.bytes }
        } else {
          engine.received(message, from: self)
        }
      }
      try hold(decoder.bufferedCount)
      patience.received(endsMessage: endsMessage, begins: decoder.bufferedCount > 0, at: .now())
      watchTime()
    } catch let error as ConnectionQuota.Exceeded {
      log.warning("the connection of process \(peer.process.pid) is closed: \(error)")
      context.close(promise: nil)
    } catch let fault as ConnectionFiles.Fault {
      closeFaulty(because: "it \(fault)")
    } catch {
      log.warning("process \(peer.process.pid) (\(peer.executable.path)) sent \("\(error)".logText)")
      context.close(promise: nil)
    }
  }

  func read(context: ChannelHandlerContext) {
    channel.eventLoop.assertInEventLoop()
    if mayRead { return context.read() }
    wantsToRead = true
    patience.paused()
    watchTime()
  }

  private var mayRead: Bool { unanswered.allowMore && awaitedFiles == nil }

  /// Reads on where reading was put off and nothing speaks against it any more.
  func readOn() {
    channel.eventLoop.assertInEventLoop()
    guard wantsToRead, mayRead else { return }
    wantsToRead = false
    patience.resumed(at: .now())
    watchTime()
    channel.read()
  }

  func closeFaulty(because reason: String) {
    log.warning("the connection of process \(peer.process.pid) (\(peer.executable.path)) is closed: \(reason)")
    channel.close(promise: nil)
  }

  private func takeHello() {
    hasSaidHello = true
    patience.saidHello()
    decoder.lengthLimit = MessageFraming.maximumLength
    unanswered.maximumByteCount = MessageFraming.maximumLength
  }

  /// Counts the lasting use that begins with a request. Returns why it is too much, nil when it is not.
  private func takeUse(of request: ClientRequest) -> ConnectionQuota.Exceeded? {
    channel.eventLoop.assertInEventLoop()
    let use: ConnectionQuota.Use
    switch request {
    case .attach: use = .sessions
    case .watch where uses.isEmpty: use = .watching
    default: return nil
    }
    guard !uses.contains(use) else { return nil }
    do throws(ConnectionQuota.Exceeded) {
      try quota.begin(use, of: peer.executable.path)
      uses.insert(use)
      return nil
    } catch { return error }
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
    closeFaulty(because: "it \(fault)")
  }

  private func answered(_ request: UInt64) {
    channel.eventLoop.assertInEventLoop()
    unanswered.remove(request)
    readOn()
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
    for use in uses { quota.end(use, of: peer.executable.path) }
    uses = []
    dropAwaitedFiles()
    files.close()
    engine.disconnected(self)
    context.fireChannelInactive()
  }
}
