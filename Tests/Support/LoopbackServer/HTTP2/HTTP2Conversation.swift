import NIOCore
import NIOHPACK
import NIOHTTP2

/// One request and its reply on a stream of an HTTP/2 connection. Used by one task.
final class HTTP2Conversation: ReplySink {
  private let stream: ServerStream
  private let index: Int
  private let connection: ServerConnection
  private let service: Service
  private var body = RecordedBody()
  private var framing = BodyFraming.none
  private var isAnsweringHEAD = false
  private var hasSentHead = false
  private var isOver = false

  init(stream: ServerStream, index: Int, connection: ServerConnection, service: Service) {
    self.stream = stream
    self.index = index
    self.connection = connection
    self.service = service
  }

  func run() async {
    do {
      guard let fields = try await stream.head() else { return }
      try await serve(RequestHead(http2: fields, connection: connection, index: index))
    } catch {
      // The client left, the server shuts down, or a handler failed, which was noted where it happened.
      try? await stream.write(.rstStream(.internalError))
    }
  }

  private var isAtEndOfBody: Bool {
    let inbox = stream.inbox.current
    return inbox.hasEnded && inbox.bytes.readableBytes == 0
  }

  private func serve(_ head: RequestHead) async throws {
    isAnsweringHEAD = head.method == "HEAD"
    if let length = head.value("content-length").flatMap({ Int64($0) }) {
      framing = .length(length)
    } else if !stream.inbox.current.hasEnded {
      framing = .chunked(sizes: [])
    }
    let head = service.arrived(head)
    switch try await decision(about: head) {
    case .reply(let reply):
      // The record is made whatever becomes of the reply, with as much of the body as the reply's steps read.
      var isRecorded = false
      defer { if !isRecorded { record(head) } }
      try await perform(reply) {
        record(head)
        isRecorded = true
      }
    case .continueThenReadBody:
      try await informational(100, fields: [])
      try await readAndReply(to: head)
    case .readBody: try await readAndReply(to: head)
    case .hand(let script):
      let stream = ScriptedStream(head: head, stream: stream)
      try await scripted { try await script(stream) }
      try await stream.finish()
    }
  }

  private func decision(about head: RequestHead) async throws -> HeadDecision {
    guard let onHead = service.options.onHead else {
      return head.expectsContinue ? .continueThenReadBody : .readBody
    }
    return try await scripted { try await onHead(head) }
  }

  private func readAndReply(to head: RequestHead) async throws {
    do { try await readRequestBody(upTo: nil) } catch {
      record(head)
      throw error
    }
    let request = record(head)
    guard request.isComplete else { return }
    let reply = try await scripted { try await self.service.handler(request) }
    try await perform(reply)
  }

  @discardableResult
  private func record(_ head: RequestHead) -> RecordedRequest {
    let trailers = stream.inbox.current.trailers.map { $0.map { (name: $0.name, value: $0.value) } } ?? []
    let request = RecordedRequest(
      head: head, framing: framing, body: body, trailers: trailers, isComplete: isAtEndOfBody)
    service.requests.record(request)
    return request
  }

  private func scripted<Value>(_ script: () async throws -> Value) async throws -> Value {
    do { return try await script() } catch {
      if !Task.isCancelled { service.failed(.handlerThrew(error), on: connection) }
      throw error
    }
  }

  private func perform(_ reply: Reply, bodyIsRead: () -> Void = {}) async throws {
    var runner = ReplyRunner(reply)
    try await runner.perform(on: self, bodyIsRead: bodyIsRead)
    guard !isOver else { return }
    isOver = true
    if hasSentHead {
      try await stream.write(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)))
    }
    // RFC 9113 §8.1: the rest of a request that was answered early is not wanted.
    if !isAtEndOfBody { try await stream.write(.rstStream(.noError)) }
  }

  // MARK: ReplySink

  func informational(_ status: Int, fields: HeaderList) async throws {
    try await stream.write(.headers(.init(headers: HTTP2Conversation.list(status, fields))))
  }

  func head(_ status: Int, reason: String?, fields: HeaderList) async throws {
    hasSentHead = true
    try await informational(status, fields: fields)
  }

  func raw(_ bytes: ByteBuffer) async throws { throw NotOverHTTP2() }

  func body(_ bytes: ByteBuffer) async throws {
    guard !isAnsweringHEAD else { return }
    try await stream.write(.data(.init(data: .byteBuffer(bytes))))
  }

  func chunk(_ bytes: ByteBuffer) async throws { try await body(bytes) }

  func trailers(_ fields: HeaderList) async throws {
    guard !isAnsweringHEAD, !fields.isEmpty else { return }
    isOver = true
    var list = HPACKHeaders()
    for (name, value) in fields { list.add(name: name.lowercased(), value: value) }
    try await stream.write(.headers(.init(headers: list, endStream: true)))
  }

  func readRequestBody(upTo limit: Int64?) async throws {
    while body.count < limit ?? .max, let piece = try await stream.read() {
      if case .chunked(let sizes) = framing, sizes.count < 4_096 {
        framing = .chunked(sizes: sizes + [piece.readableBytes])
      }
      piece.withUnsafeReadableBytes { body.append($0, keeping: service.options.recordBodies.limit) }
    }
  }

  func end(_ ending: ReplyEnding) async throws {
    isOver = true
    switch ending {
    case .closeGracefully:
      if hasSentHead { try? await stream.write(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true))) }
      await HTTP2Front.closeGracefully(connection)
    // Window updates are on their way, and unread bytes would make the end a reset, which takes what was sent with it.
    case .closeAbruptly: connection.finishAbruptly()
    case .reset: connection.reset()
    case .stall: try await Gate().wait()
    }
  }

  func handOver(to script: @Sendable (ServerConnection) async throws -> Void) async throws { throw NotOverHTTP2() }

  /// Fields of HTTP/1 that scripts written for both say, and that HTTP/2 has no room for (RFC 9113 §8.2.2).
  private static func list(_ status: Int, _ fields: HeaderList) -> HPACKHeaders {
    var list = HPACKHeaders([(":status", String(status))])
    for (name, value) in fields {
      let name = name.lowercased()
      guard !["connection", "transfer-encoding", "keep-alive", "upgrade"].contains(name) else { continue }
      list.add(name: name, value: value)
    }
    return list
  }
}

/// A step that only HTTP/1 has.
struct NotOverHTTP2: Error {}

/// A decision that only HTTP/2 can carry out.
struct OverHTTP2Only: Error {}

extension RequestHead {
  /// `:authority` is shown as Host, so that scripts need not know the version.
  fileprivate init(http2 list: HPACKHeaders, connection: ServerConnection, index: Int) {
    var fields: HeaderList = []
    if let authority = list.first(name: ":authority") { fields.append(("host", authority)) }
    for (name, value, _) in list where !name.hasPrefix(":") { fields.append((name, value)) }
    self.init(
      method: list.first(name: ":method") ?? "", target: list.first(name: ":path") ?? "", version: "HTTP/2",
      fields: fields, raw: [], connection: connection.number, indexOnConnection: index, tls: connection.tls,
      connectProtocol: list.first(name: ":protocol"))
  }
}
