import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// One request sent on one connection, up to its final response head. Confined to the load's loop.
final class HTTPAttempt: LoadAttempt, @unchecked Sendable {
  private let request: URLRequest
  private let url: URL
  private var target: HTTPTarget
  private let body: RequestBodySource
  private let context: LoadContext
  /// Whether the request was sent before and lost its connection.
  private let isRepetition: Bool
  private let record: TransactionRecord

  private var control: LoadControl { context.control }

  init(
    request: URLRequest, url: URL, target: HTTPTarget, body: RequestBodySource, context: LoadContext,
    isRepetition: Bool = false
  ) {
    self.request = request
    self.isRepetition = isRepetition
    self.url = url
    self.target = target
    self.body = body
    self.context = context
    record = TransactionRecord(request: request, fetchType: .networkLoad, anchor: context.anchor)
    record.requestBodyBytesBeforeEncoding = max(0, body.length ?? 0)
  }

  /// RFC 9110 §9.2.2.
  var isIdempotent: Bool {
    switch request.httpMethod ?? "GET" {
    case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE": true
    default: false
    }
  }

  /// Whether the app asks for pipelining and the request may be repeated without harm; not what failed so before.
  private var mayPipeline: Bool {
    guard context.configuration.usesPipelining || request.httpShouldUsePipelining, !isRepetition else { return false }
    guard body.framing == .none, context.upgrade == nil else { return false }
    switch request.httpMethod ?? "GET" {
    case "GET", "HEAD", "OPTIONS": return true
    default: return false
    }
  }

  func run() async throws -> LoadedResponse {
    context.transactions.append(record)
    try await control.passGate()
    let (exchange, change) = try await leaseForLoad()
    do {
      let (head, upload) = try await converse(exchange, change)
      let response = HTTPURLResponse(url: url, head: head)
      record.response = response
      record.exchange = exchange.record
      let body = HTTPLoadBody(exchange: exchange, upload: upload, record: record, context: context, url: url)
      return LoadedResponse(response: response, head: head, body: body)
    } catch {
      record.exchange = exchange.record
      exchange.abort(error)
      exchange.end()
      throw error
    }
  }

  func forget() { context.transactions.removeAll { $0 === record } }

  /// An exchange, and how it comes to carry the protocol that the load asks for, if it does.
  ///
  /// That is done in a stream of HTTP/2 where the server offers it, on the connection that is there already; where it
  /// does not, on a connection of HTTP/1.1, and the other one stays as it is.
  private func leaseForLoad() async throws -> (any HTTPExchange, ProtocolChange?) {
    guard context.upgrade != nil else { return (try await lease(), nil) }
    if target.key.allowsHTTP2 {
      do {
        let exchange = try await lease(changesProtocol: true)
        let change = try await protocolChange(of: exchange)
        if change != .impossible { return (exchange, change) }
        exchange.end()
      } catch TransportError.requiresHTTP1 {}
      target.key.allowsHTTP2 = false
    }
    return (try await lease(), .upgrade)
  }

  private func protocolChange(of exchange: any HTTPExchange) async throws -> ProtocolChange {
    do {
      return try await control.abortable(onAbort: { exchange.abort($0) }) { try await exchange.protocolChange() }
    } catch {
      record.exchange = exchange.record
      exchange.abort(error)
      exchange.end()
      throw error
    }
  }

  private func lease(changesProtocol: Bool = false) async throws -> any HTTPExchange {
    let pool = context.transport.pool(forHost: target.key.host)
    if pool.executor === context.executor, !changesProtocol || pool.mayChangeProtocol(target.key) {
      if let exchange = pool.idleExchange(for: target.key) { return exchange }
      if mayPipeline, let exchange = pool.pipelinedExchange(for: target.key) { return exchange }
    }
    let handshake =
      target.key.scheme == .https ? LoadHandshake(context, host: target.key.host, port: target.key.port) : nil
    let ticket = context.transport.ticket(
      for: target.key, priority: context.priority, caller: context.executor, handshake: handshake,
      changesProtocol: changesProtocol)
    context.ticket = ticket
    defer { context.ticket = nil }
    do {
      return try await control.abortable(onAbort: { ticket.abort($0) }) {
        let exchange = try await ticket.exchange()
        // Aborted while the exchange was on its way from another loop.
        do { try control.check() } catch {
          exchange.abort(error)
          exchange.end()
          throw error
        }
        return exchange
      }
    } catch {
      record.unfinishedConnection = ticket.unfinished
      throw error
    }
  }

  private func converse(
    _ exchange: any HTTPExchange, _ change: ProtocolChange?
  ) async throws -> (HTTPResponseHead, HTTPUpload?) {
    var head = HTTPRequestFields.head(
      for: request, hasContent: body.framing != .none && body.length != 0, target: target, context: context,
      change: change)
    context.prioritized = head.fields.contains("Priority") ? nil : exchange
    if let urgency = RequestUrgency.field(priority: context.priority), !head.fields.contains("Priority"),
      exchange.record.connection.protocolName == "h2"
    {
      head.fields.append("Priority", urgency)
    }
    record.sentHead = head
    if change == .extendedConnect { return (try await connect(exchange, head), nil) }
    record.sentFraming = body.framing
    try await exchange.send(head: head, body: body.framing)
    tell(.requestWasSent, exchange)
    control.touch()
    var upload: HTTPUpload?
    if body.framing != .none {
      let made = HTTPUpload(body: body, exchange: exchange, record: record, context: context)
      upload = made
      made.start(waitingForContinue: head.fields.hasToken("100-continue", in: "Expect"))
    }
    do {
      return (try await finalHead(exchange, upload), upload)
    } catch {
      // The upload's own failure explains more than the broken exchange it left behind.
      let cause = upload?.failure
      upload?.stop()
      throw cause ?? error
    }
  }

  /// RFC 8441 §4: the request stays open behind its head, for what the tunnel will carry.
  private func connect(_ exchange: any HTTPExchange, _ head: HTTPRequestHead) async throws -> HTTPResponseHead {
    try await exchange.send(head: head, body: .chunked)
    tell(.requestWasSent, exchange)
    control.touch()
    let answer = try await finalHead(exchange, nil)
    // There is no tunnel; what else the server says is read as any response. It may have closed the stream already.
    if !(200..<300).contains(answer.status) { try? await exchange.finish(trailers: nil) }
    return answer
  }

  private func tell(_ event: LoadObserver.Event, _ exchange: any HTTPExchange) {
    guard let observer = context.configuration.observer else { return }
    record.exchange = exchange.record
    observer.tell(event, URLSessionTaskTransactionMetrics(record))
  }

  private func finalHead(_ exchange: any HTTPExchange, _ upload: HTTPUpload?) async throws -> HTTPResponseHead {
    while true {
      let head = try await control.abortable(onAbort: { exchange.abort($0) }) { try await exchange.nextHead() }
      control.touch()
      if context.configuration.observer != nil {
        tell(.responseCame(HTTPURLResponse(url: url, head: head)), exchange)
      }
      guard head.isInformational, head.status != 101 else {
        upload?.finalResponseArrived(status: head.status)
        context.transport.alternatives.note(head, from: target.key)
        return head
      }
      if head.status == 100 { upload?.proceed() }
      let interim = HTTPURLResponse(url: url, head: head)
      try await context.client.load(context, didReceiveInformational: interim)
    }
  }
}
