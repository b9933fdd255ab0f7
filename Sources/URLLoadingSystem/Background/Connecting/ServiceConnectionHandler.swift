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
  private let onSilence: @Sendable () -> Void
  private var patience: AnswerPatience
  private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
  private var decoder = MessageDecoder<ServiceMessage>()
  private var waiting: [UInt64: CheckedContinuation<ServiceReply, any Error>] = [:]
  private var lastID: UInt64 = 0
  private var outgoing = OutgoingFrames()
  private var end: ServiceUnavailable?
  /// Whether the service has greeted: before, there is no connection whose end could be told.
  private var isGreeted = false

  /// - Parameters:
  ///   - patience: how long the service may send nothing while a request waits.
  ///   - onSilence: called when a service that had greeted has sent nothing for so long.
  init(
    patience: TimeAmount, onPush: @escaping @Sendable (ServicePush) -> Void, onClose: @escaping @Sendable () -> Void,
    onSilence: @escaping @Sendable () -> Void
  ) {
    self.patience = AnswerPatience(limit: patience)
    self.onPush = onPush
    self.onClose = onClose
    self.onSilence = onSilence
  }

  func connect(to path: String) async throws -> any Channel {
    let place: SocketPath
    do {
      place = try await BlockingWork.files { try SocketPath(path) }
    } catch let error as SystemError { throw IOError(errnoCode: error.code, reason: "connect to \(path)") }
    defer { withExtendedLifetime(place) {} }
    return try await ClientBootstrap(group: loop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          channel.closeOnExec()
          try channel.pipeline.syncOperations.addHandler(self)
        }
      }
      .connect(unixDomainSocketPath: place.text).get()
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
      self.finish(ServiceUnavailable(reason: "it accepted the connection and gave no answer", isSilent: true))
      channel.close(promise: nil)
    }
  }

  func request(
    _ request: ClientRequest, passing files: [SourceFile] = [], on channel: any Channel, meanwhile: () -> Void = {}
  ) async throws -> ServiceReply {
    let reply = try await withCheckedThrowingContinuation { continuation in
      if loop.inEventLoop {
        send(request, passing: files, on: channel, continuation)
      } else {
        loop.execute { self.send(request, passing: files, on: channel, continuation) }
      }
      meanwhile()
    }
    if case .refused(let refusal) = reply { throw refusal }
    return reply
  }

  private func send(
    _ request: ClientRequest, passing files: [SourceFile], on channel: any Channel,
    _ continuation: CheckedContinuation<ServiceReply, any Error>
  ) {
    loop.assertInEventLoop()
    if let end { return continuation.resume(throwing: end) }
    lastID &+= 1
    do {
      let frame = try MessageFraming.frame(ClientMessage(id: lastID, request: request))
      waiting[lastID] = continuation
      write(outgoing.add(.init(request: lastID, bytes: frame, files: files)), to: channel)
      patience.sentRequest(at: .now())
      watchTime(of: channel)
    } catch { continuation.resume(throwing: error) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    loop.assertInEventLoop()
    decoder.append(unwrapInboundIn(data).readableBytesView)
    do {
      while let message = try decoder.next() {
        switch message {
        case .reply(let id, let reply):
          // A service of an earlier version does not ask for files.
          write(outgoing.answered(id), to: context.channel)
          guard let continuation = waiting.removeValue(forKey: id) else { break }
          if case .hello = reply { isGreeted = true }
          continuation.resume(returning: reply)
        case .push(.sendFiles(let wanted)):
          if let files = outgoing.takeFiles(of: wanted.request) { pass(files, over: context.channel) }
          write(outgoing.filesSent(of: wanted.request), to: context.channel)
        // Before, it is not known what listens.
        case .push(let push): if isGreeted { onPush(push) }
        }
        patience.receivedMessage(awaitsMore: !waiting.isEmpty, at: .now())
      }
      watchTime(of: context.channel)
    } catch {
      finish(ServiceUnavailable(reason: "\(error)"))
      context.close(promise: nil)
    }
  }

  private func write(_ frames: [OutgoingFrames.Frame], to channel: any Channel) {
    for frame in frames { channel.writeAndFlush(ByteBuffer(bytes: frame.bytes), promise: nil) }
  }

  /// Sends open files beside the channel, which has written everything: the service has read the last of it.
  private func pass(_ files: [SourceFile], over channel: any Channel) {
    loop.assertInEventLoop()
    do {
      let isSent: Void? = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self
      ) {
        // Without the files the service refuses the request for now: too many may be on the way.
        do { try FilePassing.send(files, over: $0) } catch { try FilePassing.send([], over: $0) }
      }
      guard isSent != nil else { throw ChannelError.operationUnsupported }
    } catch {
      finish(ServiceUnavailable(reason: "files can't be passed to it: \(error)"))
      channel.close(promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    finish(ServiceUnavailable(reason: "\(error)", isBroken: true))
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    finish(ServiceUnavailable(reason: "the connection to it ended", hasListened: true))
    if isGreeted { onClose() }
  }

  // MARK: A service that hangs

  private func watchTime(of channel: any Channel) {
    loop.assertInEventLoop()
    // Before it greets, there is a timer of its own.
    let deadline = isGreeted && end == nil ? patience.deadline : nil
    if let timer, let deadline, timer.deadline <= deadline { return }
    timer?.task.cancel()
    timer = deadline.map { deadline in
      (deadline, loop.scheduleTask(deadline: deadline) { self.timePassed(of: channel) })
    }
  }

  private func timePassed(of channel: any Channel) {
    loop.assertInEventLoop()
    timer = nil
    guard end == nil else { return }
    switch patience.timePassed(at: .now()) {
    case .nothing: break
    case .probe: probe(channel)
    case .giveUp:
      finish(ServiceUnavailable(reason: "it gave no answer for a while", isSilent: true))
      onSilence()
      channel.close(promise: nil)
    }
    watchTime(of: channel)
  }

  /// The answer belongs to no request, so it only shows that the service lives.
  private func probe(_ channel: any Channel) {
    lastID &+= 1
    guard let frame = try? MessageFraming.frame(ClientMessage(id: lastID, request: .version)) else { return }
    write(outgoing.add(.init(request: lastID, bytes: frame, files: [])), to: channel)
  }

  private func finish(_ unavailable: ServiceUnavailable) {
    loop.assertInEventLoop()
    guard end == nil else { return }
    end = unavailable
    timer?.task.cancel()
    timer = nil
    outgoing = OutgoingFrames()
    let unanswered = waiting.values
    waiting = [:]
    for continuation in unanswered { continuation.resume(throwing: unavailable) }
  }
}
