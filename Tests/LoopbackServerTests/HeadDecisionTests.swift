import LoopbackServer
import Testing

@Suite struct HeadDecisionTests {
  private let expecting = "POST / HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
  private let continueHead = "HTTP/1.1 100 Continue\r\n\r\n"
  private let okHead = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 3\r\n\r\n"

  @Test func continuesByDefaultWhenTheClientExpectsIt() async throws {
    let server = try await LoopbackServer.start { .ok($0.body.bytes, type: "a/b") }
    let client = try await PlainClient(port: server.port)
    try await client.send(expecting)
    #expect(try await client.receiveText(continueHead.utf8.count) == continueHead)
    try await client.send("abc")
    #expect(try await client.receiveText(okHead.utf8.count + 3) == okHead + "abc")
    await server.shutdown()
  }

  @Test func readsWithoutContinuingWhenToldTo() async throws {
    var options = LoopbackServer.Options()
    options.onHead = { _ in .readBody }
    let server = try await LoopbackServer.start(options: options) { .ok($0.body.bytes, type: "a/b") }
    let client = try await PlainClient(port: server.port)
    try await client.send(expecting + "abc")
    #expect(try await client.receiveText(okHead.utf8.count + 3) == okHead + "abc")
    await server.shutdown()
  }

  @Test func repliesBeforeTheBodyAndThenCloses() async throws {
    var options = LoopbackServer.Options()
    options.onHead = { _ in .reply(.status(413)) }
    let server = try await LoopbackServer.start(options: options) { _ in .ok("never") }
    let client = try await PlainClient(port: server.port)
    try await client.send(expecting)
    let received = try await client.receiveAll()
    #expect(received.text == "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
    #expect(received.ending == .closed)
    client.finishSending()
    let request = try await server.nextRequest()
    #expect(request.body.count == 0)
    #expect(!request.isComplete)
    await server.shutdown()
  }

  @Test func readsTheBodyInTheMiddleOfAReply() async throws {
    var options = LoopbackServer.Options()
    options.onHead = { head in
      guard head.method == "POST" else { return .readBody }
      return .reply(
        Reply([.head(200, fields: [("Content-Length", "2")]), .body("1"), .readRequestBody(), .body("2")]))
    }
    let server = try await LoopbackServer.start(options: options) { _ in Reply.ok("", type: "a/b").closing }
    let client = try await PlainClient(port: server.port)
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    try await client.send("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n")
    #expect(try await client.receiveText(head.utf8.count + 1) == head + "1")
    try await client.send("abc")
    #expect(try await client.receiveText(1) == "2")
    #expect(try await server.nextRequest().body.text == "abc")
    // The connection is whole: the body was read.
    try await client.send("GET / HTTP/1.1\r\n\r\n")
    #expect(try await client.receiveAll().text.contains("Connection: close"))
    #expect(server.connectionCount == 1)
    await server.shutdown()
  }

  @Test func resetsInTheMiddleOfAnUpload() async throws {
    var options = LoopbackServer.Options()
    options.onHead = { _ in .reply(Reply([.readRequestBody(upTo: 1000), .reset])) }
    let server = try await LoopbackServer.start(options: options) { _ in .ok("never") }
    let client = try await PlainClient(port: server.port)
    try await client.send("POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n")
    try await client.send([UInt8](repeating: 1, count: 1500))
    #expect(try await client.receiveAll().ending == .reset)
    #expect(try await server.nextRequest().body.count == 1000)
    await server.shutdown()
  }

  @Test func slowsDownAClientWhileItDoesNotRead() async throws {
    let gate = Gate()
    var options = LoopbackServer.Options()
    options.onHead = { _ in
      try await gate.wait()
      return .readBody
    }
    options.recordBodies = .digestOnly
    let server = try await LoopbackServer.start(options: options) { _ in .ok("") }
    let pattern = BytePattern()
    let count = 64 << 20
    let file = TemporaryFile()
    try pattern.write(toFile: file.path, count: Int64(count))
    async let upload = curl("-T", file.path, "-H", "Expect:", server.url().absoluteString)
    _ = try await server.nextHead()
    #expect(server.requests.isEmpty)
    gate.open()
    #expect(try await upload.status == 0)
    #expect(try await server.nextRequest().body.digest == pattern.digest(count: Int64(count)))
    await server.shutdown()
  }
}
