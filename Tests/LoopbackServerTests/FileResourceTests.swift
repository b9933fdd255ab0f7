import LoopbackServer
import Testing

@Suite struct FileResourceTests {
  private static let size: Int64 = 1_000_000

  private func serve(_ file: FileResource) async throws -> LoopbackServer {
    try await LoopbackServer.start { file.reply(to: $0) }
  }

  struct RangeCase: Sendable, CustomTestStringConvertible {
    let range: String
    let status: Int
    /// nil for no body to check.
    let part: Range<Int64>?
    var contentRange: String?
    var testDescription: String { range }
  }

  static let ranges: [RangeCase] = [
    RangeCase(range: "bytes=0-0", status: 206, part: 0..<1, contentRange: "bytes 0-0/1000000"),
    RangeCase(range: "bytes=100-199", status: 206, part: 100..<200, contentRange: "bytes 100-199/1000000"),
    RangeCase(
      range: "bytes=999999-", status: 206, part: 999_999..<1_000_000, contentRange: "bytes 999999-999999/1000000"),
    RangeCase(
      range: "bytes=-70000", status: 206, part: 930_000..<1_000_000, contentRange: "bytes 930000-999999/1000000"),
    RangeCase(range: "bytes=500-9999999", status: 206, part: 500..<1_000_000, contentRange: "bytes 500-999999/1000000"),
    RangeCase(range: "bytes=-9999999", status: 206, part: 0..<1_000_000, contentRange: "bytes 0-999999/1000000"),
    RangeCase(range: "bytes=1000000-", status: 416, part: nil, contentRange: "bytes */1000000"),
    RangeCase(range: "bytes=-0", status: 416, part: nil, contentRange: "bytes */1000000"),
    RangeCase(range: "bytes=5-4", status: 200, part: 0..<1_000_000),
    RangeCase(range: "bytes=0-1,5-6", status: 200, part: 0..<1_000_000),
    RangeCase(range: "bytes=-", status: 200, part: 0..<1_000_000),
    RangeCase(range: "pages=1-2", status: 200, part: 0..<1_000_000),
  ]

  @Test(arguments: ranges)
  func answersRanges(_ row: RangeCase) async throws {
    let file = FileResource(size: Self.size, seed: 11)
    let server = try await serve(file)
    let result = try await curl("-H", "Range: \(row.range)", "-D", "-", server.url("/f").absoluteString)
    let (head, body) = split(result.output)
    #expect(head.hasPrefix("HTTP/1.1 \(row.status) "))
    #expect(field("Content-Range", in: head) == row.contentRange)
    #expect(field("Accept-Ranges", in: head) == "bytes")
    #expect(field("ETag", in: head) == file.version.etag)
    #expect(field("Last-Modified", in: head) == file.version.lastModified)
    #expect(body == row.part.map { file.version.pattern.bytes(at: $0.lowerBound, count: $0.count) } ?? [])
    let served = try #require(file.served.first)
    #expect(served.rangeField == row.range)
    #expect(served.status == row.status)
    #expect(served.sent == Int64(body.count))
    await server.shutdown()
  }

  @Test func curlResumes() async throws {
    let file = FileResource(size: Self.size)
    let server = try await serve(file)
    let target = TemporaryFile()
    try file.version.pattern.write(toFile: target.path, count: 123_457)
    let result = try await curl("-C", "-", "-o", target.path, server.url().absoluteString)
    #expect(result.status == 0, "\(result.errors)")
    #expect(file.version.pattern.difference(toFile: target.path, count: Self.size) == nil)
    #expect(file.served.map(\.offset) == [123_457])
    #expect(file.bytesSent == Self.size - 123_457)
    await server.shutdown()
  }

  @Test(arguments: [
    ("\"seed-1-size-1000000\"", 206), ("\"other\"", 200), ("W/\"seed-1-size-1000000\"", 200),
    ("Mon, 05 Jan 2026 10:00:00 GMT", 206), ("Mon, 05 Jan 2026 10:00:01 GMT", 200),
  ])
  func honoursIfRange(_ validator: String, _ status: Int) async throws {
    let file = FileResource(size: Self.size)
    let server = try await serve(file)
    _ = try await curl("-r", "5-9", "-H", "If-Range: \(validator)", server.url().absoluteString)
    #expect(file.served.map(\.status) == [status])
    #expect(file.served.map(\.ifRange) == [validator])
    await server.shutdown()
  }

  @Test func answersHEADWithoutABody() async throws {
    let file = FileResource(size: Self.size)
    let server = try await serve(file)
    let result = try await curl("-I", "-r", "0-5", server.url().absoluteString)
    #expect(result.text.hasPrefix("HTTP/1.1 200 "))
    #expect(field("Content-Length", in: result.text) == "1000000")
    #expect(file.bytesSent == 0)
    await server.shutdown()
  }

  @Test func ignoresRangesWhenToldTo() async throws {
    let file = FileResource(size: Self.size)
    file.update { $0.supportsRanges = false }
    let server = try await serve(file)
    let result = try await curl("-r", "10-20", "-D", "-", server.url().absoluteString)
    let (head, body) = split(result.output)
    #expect(head.hasPrefix("HTTP/1.1 200 "))
    #expect(field("Accept-Ranges", in: head) == "none")
    #expect(body.count == Int(Self.size))
    await server.shutdown()
  }

  @Test(arguments: [
    (FileResource.ContentRange.shifted(by: 3), "bytes 13-23/1000000" as String?),
    (.wrongTotal(5), "bytes 10-20/5"), (.text("nonsense"), "nonsense"), (.missing, nil),
  ])
  func sendsTheWantedContentRange(_ fault: FileResource.ContentRange, _ expected: String?) async throws {
    let file = FileResource(size: Self.size)
    file.update { $0.contentRange = fault }
    let server = try await serve(file)
    let result = try await curl("-r", "10-20", "-D", "-", server.url().absoluteString)
    #expect(field("Content-Range", in: split(result.output).head) == expected)
    await server.shutdown()
  }

  @Test func cutsTheFirstAnswersOnly() async throws {
    let file = FileResource(size: Self.size)
    file.update { $0.cuts = [.after(300_000), .after(200_000, .closeGracefully)] }
    let server = try await serve(file)
    let target = TemporaryFile()
    for expected: Int32 in [18, 18, 0] {
      #expect(try await curl("-C", "-", "-o", target.path, server.url().absoluteString).status == expected)
    }
    #expect(file.version.pattern.difference(toFile: target.path, count: Self.size) == nil)
    #expect(file.served.map(\.offset) == [0, 300_000, 500_000])
    #expect(file.served.map(\.sent) == [300_000, 200_000, 500_000])
    await server.shutdown()
  }

  @Test func changesItsVersion() async throws {
    let file = FileResource(size: Self.size, seed: 1)
    file.update { $0.replacement = (.init(size: 500, seed: 2), beforeRequest: 2) }
    let server = try await serve(file)
    let first = try await curl(server.url().absoluteString)
    #expect(BytePattern(seed: 1).matches(first.output))
    let second = try await curl(
      "-r", "100-", "-H", "If-Range: \"seed-1-size-1000000\"", server.url().absoluteString)
    #expect(second.output == BytePattern(seed: 2).bytes(count: 500))
    #expect(file.version.etag == "\"seed-2-size-500\"")
    await server.shutdown()
  }

  @Test func hidesItsLength() async throws {
    let file = FileResource(size: Self.size)
    file.update { $0.hidesLength = true }
    let server = try await serve(file)
    let result = try await curl("-D", "-", server.url().absoluteString)
    let (head, body) = split(result.output)
    #expect(field("Content-Length", in: head) == nil)
    #expect(file.version.pattern.matches(body))
    #expect(body.count == Int(Self.size))
    await server.shutdown()
  }

  @Test func limitsItsRate() async throws {
    let file = FileResource(size: 100_000)
    file.update { $0.bytesPerSecond = 200_000 }
    let server = try await serve(file)
    let start = ContinuousClock.now
    #expect(try await curl(server.url().absoluteString).output.count == 100_000)
    let time = ContinuousClock.now - start
    #expect(time >= .milliseconds(450))
    await server.shutdown()
  }

  @Test func refusesOtherMethods() async throws {
    let file = FileResource(size: 10)
    let server = try await serve(file)
    let result = try await curl("-X", "DELETE", "-o", "/dev/null", "-w", "%{http_code}", server.url().absoluteString)
    #expect(result.text == "405")
    #expect(file.served.isEmpty)
    await server.shutdown()
  }
}

/// The head as text and the body as bytes of what `curl -D -` prints.
private func split(_ output: [UInt8]) -> (head: String, body: [UInt8]) {
  let end = Array("\r\n\r\n".utf8)
  guard let start = output.indices.first(where: { output[$0...].starts(with: end) }) else { return ("", output) }
  return (String(decoding: output[..<start], as: UTF8.self), Array(output[(start + 4)...]))
}

private func field(_ name: String, in head: String) -> String? {
  head.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
    .map { String($0.dropFirst(name.count + 2)) }
}
