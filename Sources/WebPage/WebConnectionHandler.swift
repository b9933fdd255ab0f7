#if Web
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Synchronization

/// The open connections of the server, on all its addresses.
final class WebConnections: Sendable {
  private struct State {
    var table = WebConnectionTable<ObjectIdentifier>()
    var channels: [ObjectIdentifier: any Channel] = [:]
  }

  private let state = Mutex(State())

  func opened(_ channel: any Channel) {
    let surplus = state.withLock { state -> (any Channel)? in
      state.channels[ObjectIdentifier(channel)] = channel
      return state.table.opened(ObjectIdentifier(channel)).flatMap { state.channels.removeValue(forKey: $0) }
    }
    surplus?.close(promise: nil)
  }

  func signedIn(_ channel: any Channel) { state.withLock { $0.table.signedIn(ObjectIdentifier(channel)) } }

  func closed(_ channel: any Channel) {
    state.withLock { state in
      state.table.closed(ObjectIdentifier(channel))
      state.channels[ObjectIdentifier(channel)] = nil
    }
  }
}

/// Closes its connection when that takes too long, or when there are too many. Confined to the connection's loop.
final class WebConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let connections: WebConnections
  /// nil until the connection is open.
  private var times: WebConnectionTimes?
  private var timer: (end: WebConnectionTimes.Instant, task: Scheduled<Void>)?

  init(_ connections: WebConnections) { self.connections = connections }

  func handlerAdded(context: ChannelHandlerContext) {
    context.eventLoop.assertInEventLoop()
    if context.channel.isActive { open(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    context.eventLoop.assertInEventLoop()
    open(context)
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    context.eventLoop.assertInEventLoop()
    close(context)
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    context.eventLoop.assertInEventLoop()
    close(context)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    context.eventLoop.assertInEventLoop()
    switch unwrapInboundIn(data) {
    case .head: times?.headArrived(at: .now)
    case .body: break
    case .end: times?.requestArrived(at: .now)
    }
    keepTime(context)
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    context.eventLoop.assertInEventLoop()
    let part = unwrapOutboundIn(data)
    if case .head(let head) = part {
      times?.responseBegan(isStream: head.headerFields[.contentType] == "text/event-stream")
    }
    times?.writeBegan(at: .now)
    let written = promise ?? context.eventLoop.makePromise(of: Void.self)
    written.futureResult.assumeIsolated().whenComplete { _ in
      self.times?.writeEnded(at: .now)
      self.keepTime(context)
    }
    context.write(data, promise: written)
    if case .end = part { times?.responseEnded(at: .now) }
    keepTime(context)
  }

  // MARK: Time

  private func open(_ context: ChannelHandlerContext) {
    guard times == nil else { return }
    times = WebConnectionTimes(openedAt: .now)
    connections.opened(context.channel)
    keepTime(context)
  }

  private func close(_ context: ChannelHandlerContext) {
    timer?.task.cancel()
    (timer, times) = (nil, nil)
    connections.closed(context.channel)
  }

  /// A timer that ends too early looks again; one that would end too late is replaced.
  private func keepTime(_ context: ChannelHandlerContext) {
    guard let deadline = times?.deadline else { return }
    if let timer, timer.end <= deadline { return }
    timer?.task.cancel()
    let task = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(deadline - .now)) {
      self.timer = nil
      guard let deadline = self.times?.deadline else { return }
      if deadline <= .now { context.close(promise: nil) } else { self.keepTime(context) }
    }
    timer = (deadline, task)
  }
}
#endif
