import LoopbackServer
import Testing

@Suite struct RequestRecordingTests {
  @Test func recordsTheHeadByteForByte() async throws {
    let server = try await LoopbackServer.start { _ in .ok("") }
    let client = try await PlainClient(port: server.port)
    let head = "PUT /a%20b?c=d HTTP/1.1\r\nhOst:  x \r\nX-Twice: 1\r\nx-twice: 2\r\nContent-Length: 0\r\n\r\n"
    try await client.send("\r\n" + head)
    let request = try await server.nextRequest()
    #expect(request.method == "PUT")
    #expect(request.target == "/a%20b?c=d")
    #expect(request.path == "/a%20b")
    #expect(request.query == "c=d")
    #expect(request.version == "HTTP/1.1")
    #expect(request.fields.map(\.name) == ["hOst", "X-Twice", "x-twice", "Content-Length"])
    #expect(request.value("host") == "x")
    #expect(request.values("X-TWICE") == ["1", "2"])
    #expect(request.value("X-Twice") == "1, 2")
    #expect(request.value("Absent") == nil)
    #expect(request.rawText == head)
    #expect(request.framing == .length(0))
    #expect(request.isComplete)
    #expect(request.tls == nil)
    await server.shutdown()
  }

  struct BodyCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let message: String
    let framing: BodyFraming
    let body: String
    var trailers: [String] = []
  }

  static let bodies: [BodyCase] = [
    BodyCase(testDescription: "no body", message: "GET / HTTP/1.1\r\n\r\n", framing: .none, body: ""),
    BodyCase(
      testDescription: "a length", message: "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", framing: .length(3),
      body: "abc"),
    BodyCase(
      testDescription: "chunks, an extension and trailers",
      message:
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\nA\r\n0123456789\r\n0\r\nT: x\r\n\r\n",
      framing: .chunked(sizes: [2, 10]), body: "ab0123456789", trailers: ["T=x"]),
  ]

  @Test(arguments: bodies, [1, 1000])
  func readsBodies(_ row: BodyCase, sentInPiecesOf size: Int) async throws {
    let server = try await LoopbackServer.start { _ in Reply.ok("").closing }
    let client = try await PlainClient(port: server.port)
    let bytes = Array(row.message.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      try await client.send(Array(bytes[start..<min(start + size, bytes.count)]))
    }
    let request = try await server.nextRequest()
    #expect(request.framing == row.framing)
    #expect(request.body.text == row.body)
    #expect(request.body.count == Int64(row.body.utf8.count))
    #expect(request.trailers.map { "\($0.name)=\($0.value)" } == row.trailers)
    #expect(request.isComplete)
    await server.shutdown()
  }

  @Test func digestsAnUploadItDoesNotKeep() async throws {
    var options = LoopbackServer.Options()
    options.recordBodies = .keep(10)
    let server = try await LoopbackServer.start(options: options) { _ in .ok("") }
    let pattern = BytePattern(seed: 3)
    let count: Int64 = 5_000_003
    let file = TemporaryFile()
    try pattern.write(toFile: file.path, count: count)
    for framing in [["-H", "Transfer-Encoding: chunked"], []] {
      let result = try await curl(framing + ["-T", file.path, server.url("/up").absoluteString])
      #expect(result.status == 0, "\(result.errors)")
      let request = try await server.nextRequest()
      #expect(request.method == "PUT")
      #expect(request.body.count == count)
      #expect(request.body.bytes == pattern.bytes(count: 10))
      #expect(request.body.digest == pattern.digest(count: count))
      #expect(request.body.digest != BytePattern(seed: 4).digest(count: count))
      if framing.isEmpty {
        #expect(request.framing == .length(count))
      } else if case .chunked(let sizes) = request.framing {
        #expect(sizes.reduce(0, +) == Int(count))
      } else {
        Issue.record("expected chunks, got \(request.framing)")
      }
    }
    await server.shutdown()
  }

  @Test func recordsWhatAClientThatLeftHadSent() async throws {
    let server = try await LoopbackServer.start { _ in .ok("") }
    do {
      let client = try await PlainClient(port: server.port)
      try await client.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
      _ = try await server.nextHead()
    }
    let request = try await server.nextRequest()
    #expect(request.body.text == "abc")
    #expect(!request.isComplete)
    await server.shutdown()
  }

  @Test(arguments: [
    "nonsense\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
  ])
  func notesWhatIsNoRequest(_ message: String) async throws {
    let server = try await LoopbackServer.start { _ in .ok("") }
    let client = try await PlainClient(port: server.port)
    try await client.send(message)
    guard case .malformedRequest = try await server.nextFailure().reason else {
      Issue.record("\(server.failures)")
      return
    }
    #expect(server.requests.isEmpty)
    await server.shutdown()
  }
}
