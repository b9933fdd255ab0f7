import HTTPSemantics
import NIOCore
import NIOSSL
import NIOTLS

/// Speaks to the proxy at the other end of a channel until it lets bytes through, and then leaves the pipeline. The outcome
/// is what came behind the proxy's last word: the first bytes of the server.
final class ProxyNegotiationHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let proxy: ProxyServer
  private var negotiation: any ProxyNegotiation
  private let outcome: EventLoopPromise<ByteBuffer>
  /// Whether TLS with an HTTPS proxy is there, or is not needed.
  private let isSecured: Bool
  /// Called with the protocol that TLS with the proxy agreed on.
  var agreed: (String) -> Void = { _ in }
  private var input = ByteBuffer()
  private var hasBegun = false
  private var isOver = false
  /// Whether the client is being asked.
  private var isAsking = false
  /// Whether the proxy closed meanwhile.
  private var hasClosed = false
  private var timer: Scheduled<Void>?

  /// How long a proxy may take that accepts the connection and then says nothing.
  private let patience: TimeAmount

  init(
    _ proxy: ProxyServer, _ negotiation: any ProxyNegotiation, isSecured: Bool, patience: TimeAmount,
    outcome: EventLoopPromise<ByteBuffer>
  ) {
    self.patience = patience
    self.proxy = proxy
    self.isSecured = isSecured
    self.negotiation = negotiation
    self.outcome = outcome
  }

  /// With an HTTPS proxy the first words wait for its handshake.
  func handlerAdded(context: ChannelHandlerContext) {
    startTimer(context)
    if isSecured { begin(context) } else { context.read() }
  }

  private func startTimer(_ context: ChannelHandlerContext) {
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: patience) {
      self.fail(context, ProxyFailure(self.proxy, .silent))
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    ended(context)
  }

  /// While the client is asked, the end waits for the answer: without one the proxy's refusal tells more.
  private func ended(_ context: ChannelHandlerContext) {
    hasClosed = true
    if !isOver, !isAsking { fail(context, ProxyFailure(proxy, negotiation.causeOfEnd)) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case TLSUserEvent.handshakeCompleted(let protocolName) = event, !hasBegun else {
      return context.fireUserInboundEventTriggered(event)
    }
    if let protocolName { agreed(protocolName) }
    begin(context)
  }

  private func begin(_ context: ChannelHandlerContext) {
    hasBegun = true
    do {
      try take(try negotiation.begin(), context)
      try advance(context)
      if !isOver { context.read() }
    } catch { fail(context, error) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isOver else { return context.fireChannelRead(data) }
    input.writeImmutableBuffer(unwrapInboundIn(data))
    guard hasBegun, !isAsking else { return }
    do { try advance(context) } catch { fail(context, error) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if isOver { context.fireChannelReadComplete() } else if !isAsking { context.read() }
  }

  /// Without a byte there is nothing to read, unless nothing is to be said at all.
  private func advance(_ context: ChannelHandlerContext) throws(ProxyFailure) {
    while !isOver, !isAsking {
      let step = try negotiation.advance(&input)
      if case .needsMore = step { return }
      try take(step, context)
    }
  }

  private func take(_ step: ProxyNegotiationStep, _ context: ChannelHandlerContext) throws(ProxyFailure) {
    switch step {
    case .needsMore: break
    case .send(let bytes): context.writeAndFlush(NIOAny(bytes), promise: nil)
    case .sendSecret(let bytes):
      let sent = context.eventLoop.makePromise(of: Void.self)
      sent.futureResult.whenComplete { _ in bytes.overwriteStorage() }
      context.writeAndFlush(NIOAny(bytes), promise: sent)
    case .ask(let question): ask(question, context)
    case .done:
      isOver = true
      let rest = input
      input = ByteBuffer()
      context.pipeline.syncOperations.removeHandler(self).assumeIsolated().whenComplete { _ in
        self.outcome.succeed(rest)
      }
    }
  }

  private func ask(_ question: @escaping @Sendable () async -> String?, _ context: ChannelHandlerContext) {
    isAsking = true
    // The client may think for longer than a proxy may.
    timer?.cancel()
    let answer = context.eventLoop.makePromise(of: String?.self)
    answer.completeWithTask { await question() }
    answer.futureResult.assumeIsolated().whenComplete { result in
      self.isAsking = false
      guard !self.isOver else { return }
      do {
        // A connection that is closed carries no answer.
        let bytes = try self.negotiation.answered(self.hasClosed ? nil : (try? result.get()) ?? nil)
        guard !self.hasClosed else { return self.fail(context, ProxyFailure(self.proxy, .silent)) }
        self.startTimer(context)
        context.writeAndFlush(NIOAny(bytes), promise: nil)
        try self.advance(context)
        if !self.isOver { context.read() }
      } catch { self.fail(context, error) }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let reason = TLSFailureText.reason(of: error)
    fail(context, ProxyFailure(proxy, hasBegun || isSecured ? negotiation.causeOfEnd : .insecure(reason: reason)))
  }

  func channelInactive(context: ChannelHandlerContext) {
    ended(context)
    context.fireChannelInactive()
  }

  private func fail(_ context: ChannelHandlerContext, _ failure: any Error) {
    guard !isOver else { return }
    isOver = true
    timer?.cancel()
    outcome.fail(failure)
    if !hasClosed { context.close(promise: nil) }
  }
}
