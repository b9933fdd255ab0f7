import HTTPSemantics
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct HTTP2IncomingResponseTests {
  enum Step: Sendable {
    case head([(String, String)], ends: Bool = false)
    case data(String, padding: Int = 0, ends: Bool = false)
  }

  private func play(
    _ steps: [Step], method: String = "GET", mayOpenTunnel: Bool = false, endIsSeparate: Bool = false
  ) throws -> HTTP2IncomingResponse {
    var response = HTTP2IncomingResponse(
      window: HTTP2ReceiveWindow(size: 1_000, maximum: 1_000), endIsSeparate: endIsSeparate)
    response.method = method
    response.mayOpenTunnel = mayOpenTunnel
    for step in steps {
      switch step {
      case .head(let fields, let ends):
        try response.fields(fields.list, wireSize: 20, endsStream: ends, at: .now())
      case .data(let text, let padding, let ends):
        _ = try response.data(
          ByteBuffer(string: text), flowControlled: text.utf8.count + padding, endsStream: ends, at: .now())
      }
    }
    return response
  }

  private static let ok = Step.head([(":status", "200")])
  private static func length(_ length: String, ends: Bool = false) -> Step {
    .head([(":status", "200"), ("content-length", length)], ends: ends)
  }

  @Test func interimHeadsBodyAndTrailers() throws {
    var response = try play([
      .head([(":status", "103"), ("link", "x")]), .head([(":status", "200"), ("a", "b")]), .data("one", padding: 4),
      .data("two"), .head([("checksum", "1")], ends: true),
    ])
    #expect(response.takeHead()?.status == 103)
    #expect(response.takeHead()?.fields == ["a": "b"])
    #expect(response.takeHead() == nil)
    #expect(response.takeChunk()?.0 == ByteBuffer(string: "onetwo"))
    #expect(response.takeChunk() == nil && response.isComplete)
    #expect(response.trailers == ["checksum": "1"])
    #expect(response.headerBytes == 60 && response.framedBodyBytes == 9 + 7 + 9 + 3)
  }

  /// In pieces of a datagram, as over HTTP/3: they wait in chunks of a limited size, and the same errors are found.
  @Test func bytesThatAreCopiedAreJoined() throws {
    let whole = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
    let window = HTTP2ReceiveWindow(size: 1 << 30, maximum: 1 << 30)
    var response = HTTP2IncomingResponse(window: window, endIsSeparate: true)
    let fields = [(":status", "200"), ("content-length", "600000")].list
    try response.fields(fields, wireSize: 20, endsStream: false, at: .now())
    func arrive(_ bytes: ArraySlice<UInt8>) throws {
      try bytes.withUnsafeBytes { bytes in try response.data(copying: bytes, at: .now()) }
    }
    for start in stride(from: 0, to: whole.count, by: 1_317) {
      try arrive(whole[start..<min(start + 1_317, whole.count)])
    }
    try arrive([])
    #expect(throws: HTTP2MessageError.bodyTooLong) { try arrive([1]) }
    var (chunks, body): (Int, [UInt8]) = (0, [])
    while let (chunk, _) = response.takeChunk() {
      #expect(chunk.readableBytes <= 256 * 1_024)
      chunks += 1
      body += chunk.readableBytesView
    }
    #expect(body == whole && chunks == 3)
  }

  static let complete: [(String, [Step])] = [
    ("GET", [length("3"), .data("abc", ends: true)]),
    ("GET", [length("0", ends: true)]),
    ("GET", [length("3"), .data("abc"), .data("", ends: true)]),
    ("GET", [.head([(":status", "204")], ends: true)]),
    ("GET", [.head([(":status", "304"), ("content-length", "9")], ends: true)]),
    ("HEAD", [length("12", ends: true)]),
    ("HEAD", [length("12"), .data("", ends: true)]),
  ]

  @Test(arguments: complete.indices)
  func theEndIsTheEnd(_ index: Int) throws {
    let (method, steps) = Self.complete[index]
    #expect(try play(steps, method: method).isComplete)
  }

  static let broken: [(String, [Step], HTTP2MessageError)] = [
    ("GET", [.data("x")], .bodyWithoutHead),
    ("GET", [.head([(":status", "100")]), .data("x")], .bodyWithoutHead),
    ("GET", [.head([(":status", "100")], ends: true)], .endedBeforeHead),
    ("GET", [ok, .head([("a", "b")])], .trailersBeforeEnd),
    ("GET", [length("3"), .data("abcd")], .bodyTooLong),
    ("GET", [length("3"), .data("ab", ends: true)], .bodyTooShort(received: 2, expected: 3)),
    ("GET", [length("3", ends: true)], .bodyTooShort(received: 0, expected: 3)),
    ("GET", [length("3"), .head([("a", "b")], ends: true)], .bodyTooShort(received: 0, expected: 3)),
    ("GET", [length("x")], .framing(.invalidLength)),
    (
      "GET", [.head([(":status", "200"), ("content-length", "1"), ("content-length", "2")])],
      .framing(.conflictingLengths)
    ),
    ("HEAD", [length("3"), .data("abc")], .bodyTooLong),
    ("GET", [.head([(":status", "204")]), .data("x")], .bodyTooLong),
    ("GET", [ok, .data("", padding: 1_001)], .bodyTooLong),
    ("GET", [ok, .data("x", ends: true), .data("y")], .bodyWithoutHead),
  ]

  @Test(arguments: broken.indices)
  func contradictionsAreErrors(_ index: Int) {
    let (method, steps, expected) = Self.broken[index]
    #expect(throws: expected) { try play(steps, method: method) }
  }

  /// HTTP/3 has no flag for the end: it may come alone, behind the trailers.
  @Test func theEndMayComeBehindTheTrailers() throws {
    let steps = [Self.length("2"), .data("ab"), .head([("checksum", "1")])]
    var response = try play(steps, endIsSeparate: true)
    #expect(!response.isComplete && !response.lacksBytes)
    try response.end(at: .now())
    #expect(response.isComplete && response.trailers?["checksum"] == "1")
    for more in [Step.data("c"), .head([("a", "b")])] {
      #expect(throws: HTTP2MessageError.trailersBeforeEnd) { try play(steps + [more], endIsSeparate: true) }
    }
    var short = try play([Self.length("3"), .data("ab")], endIsSeparate: true)
    #expect(short.lacksBytes)
    #expect(throws: HTTP2MessageError.bodyTooShort(received: 2, expected: 3)) { try short.end(at: .now()) }
  }

  /// What follows the 2xx to an extended CONNECT has no length, whatever the head says; other answers are responses.
  @Test func aTunnelCarriesBytes() throws {
    var tunnel = try play(
      [Self.length("2"), .data("abc"), .data("d", ends: true)], method: "CONNECT", mayOpenTunnel: true)
    #expect(tunnel.isTunnel && tunnel.isComplete)
    #expect(tunnel.takeChunk()?.0 == ByteBuffer(string: "abcd"))
    #expect(throws: HTTP2MessageError.fieldsInTunnel) {
      try play([Self.ok, .data("abc"), .head([("a", "b")], ends: true)], method: "CONNECT", mayOpenTunnel: true)
    }
    let refused = Step.head([(":status", "404"), ("content-length", "2")])
    #expect(try !play([refused, .data("no", ends: true)], method: "CONNECT", mayOpenTunnel: true).isTunnel)
    #expect(throws: HTTP2MessageError.bodyTooLong) {
      try play([refused, .data("not")], method: "CONNECT", mayOpenTunnel: true)
    }
    // A CONNECT without a protocol has nobody who would use the tunnel.
    #expect(throws: HTTP2MessageError.bodyTooLong) { try play([Self.ok, .data("x")], method: "CONNECT") }
  }

  @Test func interimResponsesWithoutEndAreTooMuch() throws {
    let limit = ResponseLimits.standard.interimResponses
    let steps = Array(repeating: Step.head([(":status", "103")]), count: limit)
    #expect(try play(steps + [Self.length("0", ends: true)]).isComplete)
    #expect(throws: HTTP2MessageError.tooManyInterimResponses) { try play(steps + [.head([(":status", "103")])]) }
  }

  /// Compression makes any field a byte or two: what counts is what it becomes.
  @Test func headsAreCountedWithoutCompression() throws {
    let large = Step.head([(":status", "103"), ("a", String(repeating: "x", count: 60_000))])
    #expect(try play(Array(repeating: large, count: 17) + [Self.length("0", ends: true)]).isComplete)
    #expect(throws: HTTP2MessageError.headTooLarge) { try play(Array(repeating: large, count: 18)) }
    let fields = (0..<1_000).map { _ in ("a", "") }
    #expect(throws: HTTP2MessageError.headTooLarge) {
      try play(Array(repeating: Step.head([(":status", "103")] + fields), count: 32))
    }
  }

  /// The same limit as over HTTP/1.1.
  @Test func trailersHaveALimitOfTheirOwn() throws {
    let head = Step.head([(":status", "200")])
    func trailers(_ count: Int) -> Step { .head([("a", String(repeating: "x", count: count))], ends: true) }
    #expect(try play([head, trailers(60_000)]).isComplete)
    #expect(throws: HTTP2MessageError.trailersTooLarge) { try play([head, trailers(66_000)]) }
  }
}
