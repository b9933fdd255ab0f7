import NIOCore

/// The requests and replies of one HTTP/1.1 connection, one after the other. Used by one task.
final class HTTP1Conversation: ReplySink {
  private let connection: ServerConnection
  private let service: Service
  private let reader: HTTP1RequestReader
  private var isAnsweringHEAD = false
  private var isOver = false

  init(connection: ServerConnection, service: Service) {
    self.connection = connection
    self.service = service
    reader = HTTP1RequestReader(connection: connection, recording: service.options.recordBodies)
  }

  /// Serves the connection until either side ends it.
  func run() async {
    var index = 0
    do {
      while !isOver, let head = try await reader.readHead(index: index) {
        index += 1
        try await serve(head)
      }
    } catch let error as MalformedRequest {
      service.failed(.malformedRequest(error), on: connection)
    } catch {
      // The client left, the server shuts down, or a handler failed, which was noted where it happened.
    }
    connection.closeAbruptly()
  }

  private func serve(_ head: RequestHead) async throws {
    isAnsweringHEAD = head.method == "HEAD"
    let head = service.arrived(head)
    switch try await decision(about: head) {
    case .reply(let reply):
      // The record is made whatever becomes of the reply, with as much of the body as the reply's steps read.
      var isRecorded = false
      defer { if !isRecorded { record(head) } }
      try await perform(reply, to: head) {
        record(head)
        isRecorded = true
      }
    case .continueThenReadBody:
      try await informational(100, fields: [])
      try await readAndReply(to: head)
    case .readBody:
      try await readAndReply(to: head)
    case .hand: throw OverHTTP2Only()
    }
  }

  private func decision(about head: RequestHead) async throws -> HeadDecision {
    guard let onHead = service.options.onHead else {
      return head.expectsContinue ? .continueThenReadBody : .readBody
    }
    return try await scripted { try await onHead(head) }
  }

  private func readAndReply(to head: RequestHead) async throws {
    let isComplete: Bool
    do {
      isComplete = try await reader.readBody()
    } catch {
      record(head)
      throw error
    }
    let request = record(head)
    guard isComplete else {
      isOver = true
      return
    }
    let reply = try await scripted { try await self.service.handler(request) }
    try await perform(reply, to: head)
  }

  @discardableResult
  private func record(_ head: RequestHead) -> RecordedRequest {
    let request = RecordedRequest(
      head: head, framing: reader.framing, body: reader.body, trailers: reader.trailers,
      isComplete: reader.isAtEndOfBody)
    service.requests.record(request)
    return request
  }

  /// Runs the test's own closure; what it throws, other than being cancelled, is noted.
  private func scripted<Value>(_ script: () async throws -> Value) async throws -> Value {
    do {
      return try await script()
    } catch {
      if !Task.isCancelled { service.failed(.handlerThrew(error), on: connection) }
      throw error
    }
  }

  private func perform(_ reply: Reply, to head: RequestHead, bodyIsRead: () -> Void = {}) async throws {
    var runner = ReplyRunner(reply)
    try await runner.perform(on: self, bodyIsRead: bodyIsRead)
    guard !isOver else { return }
    // A request whose body is left unread has no next request behind it (RFC 9112 §9.3).
    if head.wantsClose || !reader.isAtEndOfBody { try await end(.closeGracefully) }
  }

  // MARK: ReplySink

  func informational(_ status: Int, fields: HeaderList) async throws {
    try await head(status, reason: nil, fields: fields)
  }

  func head(_ status: Int, reason: String?, fields: HeaderList) async throws {
    var text = "HTTP/1.1 \(status) \(reason ?? reasonPhrase(status))\r\n"
    for (name, value) in fields { text += "\(name): \(value)\r\n" }
    try await connection.write(text + "\r\n")
  }

  func raw(_ bytes: ByteBuffer) async throws {
    try await connection.write(bytes)
  }

  func body(_ bytes: ByteBuffer) async throws {
    if !isAnsweringHEAD { try await connection.write(bytes) }
  }

  func chunk(_ bytes: ByteBuffer) async throws {
    guard !isAnsweringHEAD else { return }
    var framed = ByteBuffer(string: String(bytes.readableBytes, radix: 16) + "\r\n")
    framed.writeImmutableBuffer(bytes)
    framed.writeString("\r\n")
    try await connection.write(framed)
  }

  func trailers(_ fields: HeaderList) async throws {
    guard !isAnsweringHEAD else { return }
    let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    try await connection.write("0\r\n\(lines)\r\n")
  }

  func readRequestBody(upTo limit: Int64?) async throws {
    _ = try await reader.readBody(upTo: limit)
  }

  func end(_ ending: ReplyEnding) async throws {
    isOver = true
    switch ending {
    case .closeGracefully: await connection.closeGracefully()
    case .closeAbruptly: connection.closeAbruptly()
    case .reset: connection.reset()
    case .stall: try await Gate().wait()
    }
  }

  func handOver(to script: @Sendable (ServerConnection) async throws -> Void) async throws {
    isOver = true
    connection.unread(reader.takeUnread())
    try await scripted { try await script(self.connection) }
    await connection.closeGracefully()
  }
}
