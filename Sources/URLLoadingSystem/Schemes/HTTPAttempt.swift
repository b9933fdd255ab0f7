import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// One request sent on one connection, up to the end of its response. Confined to the load's loop.
///
/// It is the pipeline's pending step until the final head is here, and the source of the response's body afterwards:
///
///     leasing ──exchange──▶ awaitingHead ──final head──▶ receiving ──end──▶ over
final class HTTPAttempt: NetworkAttempt, PendingStep, BodySource, @unchecked Sendable {
  let context: LoadContext
  /// nil once the request is sent: a run that has ended refers to the body of its response.
  private var run: PipelineRun?
  private let url: URL
  private var target: HTTPTarget
  private let body: RequestBodySource
  /// Whether the request was sent before and lost its connection.
  private let isRepetition: Bool
  private let method: String
  /// Whether it may be sent before a handshake is complete.
  private let mayBeEarlyData: Bool
  /// nil when the load's messages are not recorded.
  let record: TransactionRecord?

  private var state = State.new
  /// Called when the exchange has something to read.
  private var reader: (() -> Void)?
  private var upload: HTTPUpload?
  /// Whether the request went over a connection that was made for another origin.
  private(set) var isCoalesced = false
  /// Those of the response, once its body has ended; nil where there are none.
  private(set) var trailers: HTTPFields?

  private enum State {
    case new
    case leasing(ExchangeWait)
    case awaitingHead(any HTTPExchange)
    case receiving(any HTTPExchange)
    case over
  }

  init(_ run: PipelineRun, url: URL, target: HTTPTarget, body: RequestBodySource, isRepetition: Bool) {
    self.run = run
    context = run.context
    self.url = url
    self.target = target
    self.body = body
    self.isRepetition = isRepetition
    method = run.request.urlRequest.httpMethod ?? "GET"
    mayBeEarlyData =
      run.context.configuration.usesEarlyData && body.framing == .none && run.context.upgrade == nil
      && run.network?.avoidsEarlyData == false && ["GET", "HEAD", "OPTIONS"].contains(method)
    record = run.context.makeRecord(of: run, .networkLoad)
    record?.requestBodyBytesBeforeEncoding = max(0, body.length ?? 0)
  }

  deinit {
    switch state {
    case .awaitingHead(let exchange), .receiving(let exchange):
      context.loop.execute { [upload, context] in
        exchange.abort(CancellationError())
        upload?.stop()
        exchange.end()
        context.exchangeEnded(exchange)
      }
    case .new, .leasing, .over: break
    }
  }

  var isIdempotent: Bool { HTTPMethod.isIdempotent(method) }

  func forget() {
    context.loop.assertInEventLoop()
    guard let record else { return }
    context.transactions.removeAll { $0 === record }
  }

  // MARK: A connection

  func begin() -> LoadStep {
    context.loop.assertInEventLoop()
    if let record { context.transactions.append(record) }
    if let reservation = run?.network?.reservation { return .wait { try await self.begin(on: reservation) } }
    guard !context.control.isHeld, context.upgrade == nil else { return .wait { try await self.beginLater() } }
    if let exchange = idleExchange() { return send(on: exchange, nil) }
    return lease()
  }

  /// For a load that is suspended, or that asks for another protocol.
  private func beginLater() async throws -> LoadStep {
    try await context.control.passGate()
    guard context.upgrade != nil else {
      if let exchange = idleExchange() { return send(on: exchange, nil) }
      return lease()
    }
    let (exchange, change) = try await leaseForUpgrade()
    return send(on: exchange, change)
  }

  /// On the connection that the attempt before this one has left for it.
  private func begin(on reservation: ConnectionReservation) async throws -> LoadStep {
    try await context.control.passGate()
    let exchange = await withUnsafeContinuation { continuation in
      reservation.exchange(for: context.executor) { continuation.resume(returning: $0) }
    }
    if let exchange { return send(on: exchange, context.upgrade == nil ? nil : .upgrade) }
    // It is gone. Another one is authenticated from the beginning.
    run?.network?.forgetReservation()
    if let run, Authentication.restarts(run) {
      state = .over
      run.network?.forgetAttempt()
      return .proveFirst
    }
    return context.upgrade == nil ? lease() : try await beginLater()
  }

  /// Keeps the connection for the next attempts; nil where it serves other requests too, or takes no more.
  func reserveConnection() async -> ConnectionReservation? {
    context.loop.assertInEventLoop()
    guard case .receiving(let exchange) = state else { return nil }
    return await exchange.reserveConnection()
  }

  /// Of the connection over which the response comes; nil without TLS.
  var serverCertificate: ServerCertificate? {
    guard case .receiving(let exchange) = state else { return nil }
    return exchange.record.connection.serverCertificate
  }

  private func idleExchange() -> (any HTTPExchange)? {
    guard let pool = context.transport.pool(for: target.key, on: context.executor) else { return nil }
    if let exchange = pool.idleExchange(for: target.key, assumesHTTP3: assumesHTTP3) { return exchange }
    return mayPipeline ? pool.pipelinedExchange(for: target.key) : nil
  }

  /// Whether the app asks for pipelining and the request may be repeated without harm; not what failed so before.
  private var mayPipeline: Bool {
    guard let request = run?.request.urlRequest else { return false }
    guard context.configuration.usesPipelining || request.httpShouldUsePipelining, !isRepetition else { return false }
    return body.framing == .none && context.upgrade == nil && HTTPMethod.isSafe(method)
  }

  private var assumesHTTP3: Bool { run?.request.urlRequest.assumesHTTP3Capable == true }

  private func lease() -> LoadStep {
    let wait = makeWait(changesProtocol: false)
    state = .leasing(wait)
    wait.start()
    return .pending(self)
  }

  /// Above those that an app can give.
  private static let priorityOfAnswers: Float = 2

  private func makeWait(changesProtocol: Bool) -> ExchangeWait {
    let handshake =
      target.key.scheme == .https ? LoadHandshake(context, host: target.key.host, port: target.key.port) : nil
    // Behind those that wait already, the server would ask each of them first.
    let answersChallenge = run?.carried?.isRemembered == false
    let waiter = context.transport.lease(
      for: target.key, priority: answersChallenge ? HTTPAttempt.priorityOfAnswers : context.priority,
      caller: context.executor, handshake: handshake, changesProtocol: changesProtocol, assumesHTTP3: assumesHTTP3,
      mayBeEarlyData: mayBeEarlyData, allowsStaleNames: run?.request.urlRequest.allowsPersistentDNS == true,
      // A stream of another protocol may last for hours: better on the load's own loop, where that has a share.
      isPlaced: context.isPlaced || context.upgrade != nil)
    context.waiter = waiter
    return ExchangeWait(waiter, on: context.executor)
  }

  /// An exchange, and how it comes to carry the protocol that the load asks for.
  ///
  /// That is done in a stream of HTTP/3 or HTTP/2 where the server offers it, on the connection that is there already; where
  /// it does not, on a connection of HTTP/1.1, and the other one stays as it is.
  private func leaseForUpgrade() async throws -> (any HTTPExchange, ProtocolChange) {
    if target.key.allowsHTTP2 {
      do {
        var mayBeOverQUIC = true
        while true {
          let exchange = try await awaitExchange(changesProtocol: true)
          let change = try await protocolChange(of: exchange)
          if change != .impossible { return (exchange, change) }
          exchange.end()
          // HTTP/2 with the same server may offer it.
          guard mayBeOverQUIC, exchange.record.connection.protocolName == "h3" else { break }
          mayBeOverQUIC = false
        }
      } catch TransportError.requiresHTTP1 {}
      target.key.allowsHTTP2 = false
    }
    if let exchange = idleExchange() { return (exchange, .upgrade) }
    return (try await awaitExchange(changesProtocol: false), .upgrade)
  }

  private func awaitExchange(changesProtocol: Bool) async throws -> any HTTPExchange {
    if let pool = context.transport.pool(for: target.key, on: context.executor),
      let exchange = pool.idleExchange(
        for: target.key, assumesHTTP3: changesProtocol && assumesHTTP3, changesProtocol: changesProtocol)
    {
      return exchange
    }
    let wait = makeWait(changesProtocol: changesProtocol)
    wait.start()
    context.control.wait = wait
    await withUnsafeContinuation { continuation in wait.whenReady { continuation.resume() } }
    context.control.wait = nil
    return try leased(wait)
  }

  /// The exchange that was waited for.
  private func leased(_ wait: ExchangeWait) throws -> any HTTPExchange {
    context.waiter = nil
    isCoalesced = wait.isCoalesced
    do {
      let exchange = try wait.exchange()
      // Aborted while the exchange was on its way from another loop.
      do { try context.control.check() } catch {
        exchange.abort(error)
        exchange.end()
        throw error
      }
      return exchange
    } catch {
      record?.unfinishedConnection = wait.unfinished
      throw error
    }
  }

  private func protocolChange(of exchange: any HTTPExchange) async throws -> ProtocolChange {
    do {
      return try await context.control.abortable(onAbort: { exchange.abort($0) }) {
        try await exchange.protocolChange()
      }
    } catch {
      record?.exchange = exchange.record
      exchange.abort(error)
      exchange.end()
      throw error
    }
  }

  // MARK: The request

  private func send(on exchange: any HTTPExchange, _ change: ProtocolChange?) -> LoadStep {
    let control = context.control
    guard let run else { return .fail(TransportError.shutDown) }
    self.run = nil
    var head = HTTPRequestHead(of: run, method: method, target: target, change: change)
    if change != nil {
      do { try head.prove(as: run) } catch { return .fail(failed(exchange, error)) }
    }
    head.mayBeEarlyData = mayBeEarlyData
    if let service = exchange.record.alternativeService, !head.fields.contains("Alt-Used") {
      head.fields.append("Alt-Used", service)
    }
    let isPrioritizedByApp = head.fields.contains("Priority")
    // Over HTTP/1.1 nothing is told of priorities.
    let isPrioritized = !isPrioritizedByApp && exchange.record.hasPriorities
    context.use(exchange, isPrioritized: isPrioritized)
    context.client.load(context, sendsOver: exchange)
    if isPrioritized, let urgency = RequestUrgency.field(priority: context.priority) {
      head.fields.append("Priority", urgency)
    }
    let framing: RequestBodyFraming = change == .extendedConnect ? .chunked : body.framing
    if let record {
      record.sentHead = head
      record.sentFraming = change == .extendedConnect ? .none : framing
    }
    state = .awaitingHead(exchange)
    do { try exchange.send(head: head, body: framing) } catch { return .fail(failed(exchange, error)) }
    tell(.requestWasSent, exchange)
    if body.framing != .none, change != .extendedConnect {
      let upload = HTTPUpload(body: body, exchange: exchange, record: record, context: context)
      self.upload = upload
      control.watchSending { exchange.lookAtSending { control.touch() } }
      upload.start(waitingForContinue: head.fields.hasToken("100-continue", in: "Expect"))
    }
    return step()
  }

  /// RFC 8441 §4: the request stays open behind its head, for what the tunnel will carry.
  private var opensTunnel: Bool { record?.sentHead?.connectProtocol != nil }

  // MARK: PendingStep

  func whenReady(_ action: @escaping () -> Void) {
    context.loop.assertInEventLoop()
    switch state {
    case .leasing(let wait): wait.whenReady(action)
    case .awaitingHead(let exchange):
      reader = action
      exchange.whenReadable { self.becameReadable() }
    case .new, .receiving, .over: context.executor.schedule(action)
    }
  }

  private func becameReadable() { if let action = reader.take() { context.executor.schedule(action) } }

  func step() -> LoadStep {
    context.loop.assertInEventLoop()
    switch state {
    case .leasing(let wait):
      do {
        let exchange = try leased(wait)
        guard let run, Authentication.mayProveNow(run) else { return send(on: exchange, nil) }
        // The server's answer is known already: it is not asked once more.
        state = .over
        run.network?.forgetAttempt()
        exchange.end()
        return .proveFirst
      } catch {
        state = .over
        return .fail(error)
      }
    case .awaitingHead(let exchange):
      do { return try takeHead(exchange) } catch { return .fail(failed(exchange, error)) }
    case .new, .receiving, .over: return .fail(TransportError.shutDown)
    }
  }

  func abort(_ error: any Error) {
    context.loop.assertInEventLoop()
    switch state {
    case .leasing(let wait): wait.abort(error)
    case .awaitingHead(let exchange), .receiving(let exchange): exchange.abort(error)
    case .new, .over: break
    }
  }

  private func takeHead(_ exchange: any HTTPExchange) throws -> LoadStep {
    let control = context.control
    // Every byte that arrives starts the idle timer anew, also one that completes no head.
    control.touch()
    while let head = try exchange.takeHead() {
      if context.configuration.observer != nil {
        tell(.responseCame(HTTPURLResponse(url: url, head: head)), exchange)
      }
      if head.isInformational, head.status != 101 {
        if head.status == 100 { upload?.proceed() }
        context.client.load(context, didReceiveInformational: HTTPURLResponse(url: url, head: head))
        continue
      }
      upload?.finalResponseArrived(status: head.status)
      context.transport.alternatives.note(head, from: target.key)
      let response = HTTPURLResponse(url: url, head: head)
      if let record {
        record.response = response
        record.exchange = exchange.record
      }
      state = .receiving(exchange)
      let loaded = LoadedResponse(
        response: response, head: head, body: LoadBody(self, in: context), record: record)
      guard opensTunnel, !(200..<300).contains(head.status) else { return .answer(loaded) }
      // There is no tunnel; what else the server says is read as any response. It may have closed the stream already.
      return .wait {
        try? await exchange.finish(trailers: nil)
        return .answer(loaded)
      }
    }
    return .pending(self)
  }

  /// Ends the exchange. Returns what explains most: the upload's own failure, else `error`.
  private func failed(_ exchange: any HTTPExchange, _ error: any Error) -> any Error {
    let cause = upload?.failure ?? error
    exchange.abort(error)
    upload?.stop()
    over(exchange)
    return cause
  }

  private func over(_ exchange: any HTTPExchange) {
    state = .over
    if upload != nil { context.control.watchSending(nil) }
    record?.exchange = exchange.record
    exchange.end()
    context.exchangeEnded(exchange)
  }

  private func tell(_ event: LoadObserver.Event, _ exchange: any HTTPExchange) {
    guard let observer = context.configuration.observer, let record else { return }
    record.exchange = exchange.record
    observer.tell(event, URLSessionTaskTransactionMetrics(record))
  }

  // MARK: BodySource

  func take() throws -> BodyPart {
    context.loop.assertInEventLoop()
    guard case .receiving(let exchange) = state else { return .end }
    do {
      guard let part = try exchange.takeBody() else { return .pending }
      context.control.touch()
      switch part {
      case .bytes(let bytes):
        record?.responseBodyBytesAfterDecoding += Int64(bytes.readableBytes)
        return .bytes(bytes)
      case .end:
        // The response is complete. An upload that has more to send has no reader for it; the last step of one that has
        // sent everything is waited for.
        if let upload, !upload.isSettled { return .pending }
        trailers = exchange.trailers
        over(exchange)
        return .end
      }
    } catch { throw ErrorMapping.urlError(failed(exchange, error), url: url) }
  }

  func whenReadable(_ action: @escaping () -> Void) {
    context.loop.assertInEventLoop()
    guard case .receiving(let exchange) = state else { return context.executor.schedule(action) }
    let (executor, control) = (context.executor, context.control)
    if let upload, upload.isAwaited { return upload.whenSettled { executor.schedule(action) } }
    exchange.whenReadable {
      control.touch()
      executor.schedule(action)
    }
  }

  func discard() {
    context.loop.assertInEventLoop()
    guard case .receiving(let exchange) = state else { return }
    exchange.abort(CancellationError())
    upload?.stop()
    over(exchange)
  }

  func takeOver() async throws -> any DuplexStream {
    context.loop.assertInEventLoop()
    guard case .receiving(let exchange) = state else {
      throw TransportError.connectionLost(reason: "the response is over")
    }
    // A body that is still being sent would be mixed with what is written now.
    if let upload, !upload.isSettled {
      await withUnsafeContinuation { continuation in upload.whenSettled { continuation.resume() } }
      try context.control.check()
    }
    let stream = try await exchange.takeOver()
    state = .over
    context.exchangeTakenOver(exchange)
    if upload != nil { context.control.watchSending(nil) }
    record?.exchange = exchange.record
    return stream
  }
}
