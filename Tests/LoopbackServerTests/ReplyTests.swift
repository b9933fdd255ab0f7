import LoopbackServer
import Testing

/// One reply, and every byte a client must get for it.
struct ReplyCase: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let reply: Reply
  var method = "GET"
  let wire: String
  var ending = PlainClient.Ending.closed

  static let all: [ReplyCase] = [
    ReplyCase(
      testDescription: "ok with a text", reply: .ok("hello").closing,
      wire: """
        HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r
        Connection: close\r\n\r\nhello
        """),
    ReplyCase(
      testDescription: "HEAD gets no body", reply: .ok("hello", type: "a/b").closing, method: "HEAD",
      wire: "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"),
    ReplyCase(
      testDescription: "a status without a body", reply: .status(204, fields: [("X", "y")]).closing,
      wire: "HTTP/1.1 204 No Content\r\nX: y\r\nConnection: close\r\n\r\n"),
    ReplyCase(
      testDescription: "a redirect", reply: .redirect(to: "/there", status: 307).closing,
      wire: """
        HTTP/1.1 307 Temporary Redirect\r\nLocation: /there\r\nContent-Length: 0\r\nConnection: close\r\n\r\n
        """),
    ReplyCase(
      testDescription: "chunks and trailers", reply: .chunked(["ab", "c"], trailers: [("T", "1")]).closing,
      wire: """
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nT: 1\r\n\r\n
        """),
    ReplyCase(
      testDescription: "an informational response first",
      reply: .ok("", type: "a/b").closing.after(informational: 103, fields: [("Link", "</x>")]),
      wire: """
        HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r
        HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n
        """),
    ReplyCase(
      testDescription: "an odd reason and exactly these fields",
      reply: Reply([.head(299, reason: "So so", fields: [("a", "1"), ("A", "2")]), .body("x"), .closeGracefully]),
      wire: "HTTP/1.1 299 So so\r\na: 1\r\nA: 2\r\n\r\nx"),
    ReplyCase(
      testDescription: "raw bytes", reply: .raw("HTTP/9 what\n\n"), wire: "HTTP/9 what\n\n"),
    ReplyCase(
      testDescription: "a body cut by an abrupt close",
      reply: Reply([.head(200, fields: [("Content-Length", "9")]), .body("half"), .closeAbruptly]),
      wire: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
    ReplyCase(
      testDescription: "a body cut by a reset",
      reply: Reply([.head(200, fields: [("Content-Length", "9")]), .body("half"), .reset]),
      wire: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", ending: .reset),
    ReplyCase(
      testDescription: "a body at a limited rate",
      reply: .ok("slowly", type: "a/b").limited(toBytesPerSecond: 200).closing,
      wire: "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 6\r\nConnection: close\r\n\r\nslowly"),
    ReplyCase(
      testDescription: "leaving HTTP",
      reply: Reply([
        .head(101, fields: [("Upgrade", "echo")]),
        .handOver { connection in
          let bytes = try await connection.read(exactly: 3)
          try await connection.write(bytes ?? [])
        },
      ]),
      wire: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\nyes"),
  ]
}

@Suite struct ReplyTests {
  @Test(arguments: ReplyCase.all)
  func sendsExactly(_ row: ReplyCase) async throws {
    let server = try await LoopbackServer.start { _ in row.reply }
    let client = try await PlainClient(port: server.port)
    try await client.send("\(row.method) / HTTP/1.1\r\nHost: x\r\n\r\nyes")
    let received = try await client.receiveAll()
    #expect(received.text == row.wire)
    #expect(received.ending == row.ending)
    client.finishSending()
    try await server.expectNoOpenConnections()
    await server.shutdown()
    if !row.testDescription.contains("HTTP") { #expect(server.failures.isEmpty) }
  }

  @Test func servesManyRequestsOnOneConnection() async throws {
    let server = try await LoopbackServer.start { .ok("\($0.path) \($0.indexOnConnection)", type: "a/b") }
    let client = try await PlainClient(port: server.port)
    // Two at once: pipelined requests are answered in order.
    try await client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n")
    let head = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 4\r\n\r\n"
    let expected = "\(head)/a 0\(head)/b 1"
    #expect(try await client.receiveText(expected.utf8.count) == expected)
    #expect(server.connectionCount == 1)
    #expect(server.openConnections == 1)
    try await client.send("GET /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    let last = try await client.receiveAll()
    #expect(last.text.hasSuffix("/c 2"))
    #expect(last.ending == .closed)
    #expect(server.requests.map(\.connection) == [1, 1, 1])
    await server.shutdown()
  }

  @Test func streamsALargePattern() async throws {
    let pattern = BytePattern(seed: 7)
    let count: Int64 = 50_000_001
    let server = try await LoopbackServer.start { request in
      request.path == "/chunked" ? .chunked(pattern, count: count, each: 70_001) : .pattern(pattern, count: count)
    }
    for path in ["/plain", "/chunked"] {
      let result = try await curl(server.url(path).absoluteString)
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.output.count == Int(count))
      #expect(pattern.matches(result.output))
    }
    await server.shutdown()
  }

  @Test func truncatedDeclaresMoreThanItSends() async throws {
    let server = try await LoopbackServer.start { _ in .truncated(declared: 1000, sent: 600) }
    let result = try await curl(server.url().absoluteString)
    // curl's CURLE_PARTIAL_FILE.
    #expect(result.status == 18)
    #expect(result.output == BytePattern().bytes(count: 600))
    await server.shutdown()
  }

  @Test func waitsForAGateAndTellsWhereItIs() async throws {
    let reached = Gate()
    let mayGoOn = Gate()
    let server = try await LoopbackServer.start { _ in
      Reply([
        .head(200, fields: [("Content-Length", "2")]), .body("1"), .open(reached), .waitFor(mayGoOn), .body("2"),
        .closeGracefully,
      ])
    }
    let client = try await PlainClient(port: server.port)
    try await client.send("GET / HTTP/1.1\r\n\r\n")
    try await reached.wait(within: patience)
    let first = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1"
    #expect(try await client.receiveText(first.utf8.count) == first)
    mayGoOn.open()
    #expect(try await client.receiveAll().text == "2")
    await server.shutdown()
  }

  @Test func stallsUntilTheClientGoes() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    do {
      let client = try await PlainClient(port: server.port)
      try await client.send("GET / HTTP/1.1\r\n\r\n")
      _ = try await server.nextRequest()
      #expect(server.openConnections == 1)
      _ = client
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func shutdownEndsAStall() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let client = try await PlainClient(port: server.port)
    try await client.send("GET / HTTP/1.1\r\n\r\n")
    _ = try await server.nextRequest()
    await server.shutdown()
    #expect(server.openConnections == 0)
    #expect(try await client.receiveAll().bytes.isEmpty)
    await #expect(throws: SocketError.self) { _ = try await PlainClient(port: server.port) }
  }

  @Test func limitsTheRate() async throws {
    let server = try await LoopbackServer.start { _ in
      .pattern(BytePattern(), count: 100_000).limited(toBytesPerSecond: 200_000)
    }
    let start = ContinuousClock.now
    #expect(try await curl(server.url().absoluteString).output.count == 100_000)
    let time = ContinuousClock.now - start
    // Never faster than asked; how much slower is the machine's business.
    #expect(time >= .milliseconds(450))
    await server.shutdown()
  }

  @Test func delays() async throws {
    let server = try await LoopbackServer.start { _ in .ok("x").preceded(by: [.delay(.milliseconds(80))]) }
    let start = ContinuousClock.now
    #expect(try await curl(server.url().absoluteString).text == "x")
    let time = ContinuousClock.now - start
    #expect(time >= .milliseconds(80))
    await server.shutdown()
  }

  @Test func slowsDownForAClientThatDoesNotRead() async throws {
    let sent = Recorder<Int>()
    let server = try await LoopbackServer.start { _ in
      var reply = Reply.pattern(BytePattern(), count: 1 << 40)
      reply.onBodySent = { sent.record($0) }
      return reply
    }
    let client = try await PlainClient(port: server.port)
    try await client.send("GET / HTTP/1.1\r\n\r\n")
    _ = try await sent.next()
    await server.shutdown()
    // A terabyte cannot have gone into the socket's buffers.
    #expect(sent.all.reduce(0, +) < 1 << 30)
  }

  @Test func notesAHandlerThatThrows() async throws {
    struct Broken: Error {}
    let server = try await LoopbackServer.start { _ in throw Broken() }
    #expect(try await curl(server.url().absoluteString).status == 52)
    let failure = try await server.nextFailure()
    #expect("\(failure)".contains("Broken"))
    await server.shutdown()
  }
}
