import HTTPSemantics
import Testing

/// A body, and the parts it is made of.
struct MixedReplaceCase: Sendable, CustomTestStringConvertible {
  let name: String
  var boundary = "b"
  let body: String
  let parts: [Part]
  var testDescription: String { name }

  struct Part: Sendable, Equatable {
    var fields: KeyValues = []
    var body = ""
    var isComplete = true
  }

  typealias KeyValues = [HTTPFields.Field]

  static func part(_ body: String, _ fields: (String, String)..., isComplete: Bool = true) -> Part {
    Part(fields: fields.map { .init(name: $0.0, value: $0.1) }, body: body, isComplete: isComplete)
  }

  static let all = [
    MixedReplaceCase(
      name: "as RFC 2046 has it",
      body:
        "preamble\r\n--b\r\nContent-Type: text/plain\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\nepilogue\r\n--b\r\n\r\nno",
      parts: [part("one", ("Content-Type", "text/plain")), part("two")]),
    MixedReplaceCase(
      name: "line feeds alone", body: "--b\nX: 1\n\none\n--b\n\ntwo\n--b--",
      parts: [part("one", ("X", "1")), part("two")]),
    MixedReplaceCase(
      name: "line breaks within and at the ends of a body", body: "--b\r\n\r\n\r\n\n\r1\r\n2\r\r\n\r\n--b--",
      parts: [part("\r\n\n\r1\r\n2\r\r\n")]),
    MixedReplaceCase(name: "empty body", body: "--b\r\n\r\n\r\n--b--", parts: [part("")]),
    MixedReplaceCase(
      name: "delimiter right after the head", body: "--b\r\nX: 1\r\n\r\n--b--", parts: [part("", ("X", "1"))]),
    MixedReplaceCase(
      name: "head broken off", body: "--b\r\nX: 1\r\n--b\r\n\r\n2\r\n--b--", parts: [part("", ("X", "1")), part("2")]),
    MixedReplaceCase(name: "no parts", body: "--b--\r\n", parts: []),
    MixedReplaceCase(name: "nothing", body: "", parts: []),
    MixedReplaceCase(name: "no delimiter", body: "hello\r\n--c\r\n\r\n", parts: []),
    MixedReplaceCase(
      name: "near delimiters are body", body: "--b\r\n\r\n--bc\r\n-b\r\n--b-\r\nx--b\r\n--\r\n--b--",
      parts: [part("--bc\r\n-b\r\n--b-\r\nx--b\r\n--")]),
    MixedReplaceCase(
      name: "padding behind the boundary", body: "--b \t\r\n\r\n1\r\n--b  \n\n2\r\n--b--",
      parts: [part("1"), part("2")]),
    MixedReplaceCase(
      name: "announced length", body: "--b\r\nContent-Length: 9\r\n\r\n1\r\n--b\r\n2\r\n--b\r\n\r\n3\r\n--b--",
      parts: [part("1\r\n--b\r\n2", ("Content-Length", "9")), part("3")]),
    MixedReplaceCase(
      name: "announced length and no line break behind it",
      body: "--b\r\nContent-Length: 1\r\n\r\n1--b\r\nContent-Length: 0\r\n\r\n--b--",
      parts: [part("1", ("Content-Length", "1")), part("", ("Content-Length", "0"))]),
    MixedReplaceCase(
      name: "announced length that is no number", body: "--b\r\nContent-Length: 1x\r\n\r\n123\r\n--b--",
      parts: [part("123", ("Content-Length", "1x"))]),
    MixedReplaceCase(
      name: "dashes in the parameter and not doubled", boundary: "--cam",
      body: "--cam\r\n\r\n1\r\n--cam\r\n\r\n2\r\n----cam\r\n--cam--",
      parts: [part("1"), part("2\r\n----cam")]),
    MixedReplaceCase(
      name: "dashes in the parameter and doubled", boundary: "--cam",
      body: "----cam\r\n\r\n1\r\n--cam\r\n\r\n2\r\n----cam--",
      parts: [part("1\r\n--cam\r\n\r\n2")]),
    MixedReplaceCase(
      name: "folded, malformed and controlling lines",
      body: "--b\r\nX: a\r\n b\r\nnonsense\r\n: c\r\nY: \u{1}\r\nZ:\r\n z\r\n\r\n1\r\n--b--",
      parts: [part("1", ("X", "a b"), ("Z", "z"))]),
    MixedReplaceCase(name: "cut off in a body", body: "--b\r\n\r\n12\r", parts: [part("12\r")]),
    MixedReplaceCase(name: "cut off in a delimiter", body: "--b\r\n\r\n12\r\n--", parts: [part("12\r\n--")]),
    MixedReplaceCase(name: "cut off behind a delimiter", body: "--b\r\n\r\n12\r\n--b", parts: [part("12")]),
    MixedReplaceCase(name: "cut off in a head", body: "--b\r\n\r\n1\r\n--b\r\nX: 1\r\nY", parts: [part("1")]),
    MixedReplaceCase(
      name: "cut off in an announced length", body: "--b\r\nContent-Length: 5\r\n\r\n12",
      parts: [part("12", ("Content-Length", "5"))]),
  ]
}

@Suite struct MixedReplaceParserTests {
  /// Feeds the pieces; the parts that come out, the last perhaps not complete.
  private func parts(
    _ pieces: [ArraySlice<UInt8>], boundary: String, limits: MixedReplaceParser.Limits = .init()
  ) throws -> [MixedReplaceCase.Part] {
    var parser = MixedReplaceParser(boundary: boundary, limits: limits)
    var parts: [MixedReplaceCase.Part] = []
    var bodies: [[UInt8]] = []
    func drain() throws {
      while let event = try parser.next() {
        switch event {
        case .head(let fields):
          #expect(parts.last?.isComplete ?? true)
          parts.append(.init(fields: fields.fields, isComplete: false))
          bodies.append([])
        case .body(let bytes):
          #expect(!bytes.isEmpty)
          bodies[bodies.count - 1] += bytes
        case .endOfPart: parts[parts.count - 1].isComplete = true
        }
      }
    }
    for piece in pieces {
      parser.append(piece)
      try drain()
    }
    parser.end()
    try drain()
    for index in parts.indices { parts[index].body = String(decoding: bodies[index], as: UTF8.self) }
    return parts
  }

  @Test(arguments: MixedReplaceCase.all) func resultIsTheSameAtOnceAndByteByByte(_ expected: MixedReplaceCase) throws {
    let bytes = Array(expected.body.utf8)
    #expect(try parts([bytes[...]], boundary: expected.boundary) == expected.parts)
    #expect(try parts(bytes.indices.map { bytes[$0...$0] }, boundary: expected.boundary) == expected.parts)
  }

  @Test(arguments: MixedReplaceCase.all) func resultIsTheSameAtEverySplit(_ expected: MixedReplaceCase) throws {
    let bytes = Array(expected.body.utf8)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]]
        let found = try parts(pieces, boundary: expected.boundary)
        #expect(found == expected.parts, "split at \(first) and \(second)")
      }
    }
  }

  /// A picture is shown when it is complete, not when the next one begins.
  @Test func anAnnouncedPartEndsWithItsLastByte() throws {
    var parser = MixedReplaceParser(boundary: "b")
    parser.append(Array("--b\r\nContent-Length: 3\r\n\r\n123".utf8))
    #expect(try parser.next() == .head(["Content-Length": "3"]))
    #expect(try parser.next() == .body(Array("123".utf8)))
    #expect(try parser.next() == .endOfPart)
    #expect(try parser.next() == nil)
  }

  @Test func bodiesAreNotHeldBack() throws {
    var parser = MixedReplaceParser(boundary: "b")
    parser.append(Array("--b\r\n\r\n1\n2\r\n--".utf8))
    #expect(try parser.next() == .head([:]))
    #expect(try parser.next() == .body(Array("1\n2".utf8)))
    #expect(try parser.next() == nil)
  }

  @Test(
    arguments: [
      ("--b\r\n" + String(repeating: "x", count: 101), MixedReplaceParser.Failure.headTooLarge),
      ("--b\r\n" + String(repeating: "X: 1\r\n", count: 17), .headTooLarge),
      ("--b\r\nX: 1\r\n--b" + String(repeating: " ", count: 100) + "\r\n\r\n1\r\n--b--", .headTooLarge),
      ("--b\r\nX: 1\r\n--b--" + String(repeating: "x", count: 100) + "\r\n", .headTooLarge),
      ("--b\r\n" + String(repeating: "X:\n", count: 4), .tooManyFields),
    ])
  func limits(_ body: String, _ failure: MixedReplaceParser.Failure) {
    var limits = MixedReplaceParser.Limits()
    limits.headBytes = 100
    limits.fields = failure == .tooManyFields ? 3 : 1000
    let bytes = Array(body.utf8)
    #expect(throws: failure) { try parts([bytes[...]], boundary: "b", limits: limits) }
    #expect(throws: failure) { try parts(bytes.indices.map { bytes[$0...$0] }, boundary: "b", limits: limits) }
  }

  /// What came before the head that is too large is handed out first, however the bytes are cut.
  @Test(
    arguments: [
      "--b\n\n1\n--b\nX:\nX:\nX:\n\n", "--b\nX:\n--b\nX:\nX:\nX:\n\n", "--b\n?e: b-\nA\n)\n--b\nX:\n:\nX:\n x\nX:\n\n",
    ])
  func errorComesAfterValidParts(_ body: String) {
    var limits = MixedReplaceParser.Limits()
    limits.fields = 2
    let bytes = Array(body.utf8)
    var readings: [[MixedReplaceParser.Event]] = []
    for size in 1...bytes.count {
      var parser = MixedReplaceParser(boundary: "b", limits: limits)
      var events: [MixedReplaceParser.Event] = []
      #expect(throws: MixedReplaceParser.Failure.tooManyFields) {
        for start in stride(from: 0, to: bytes.count, by: size) {
          parser.append(bytes[start..<min(start + size, bytes.count)])
          while let event = try parser.next() { events.append(event) }
        }
      }
      readings.append(events)
    }
    #expect(readings.first?.last == .endOfPart)
    #expect(Set(readings.map { $0.count }).count == 1)
    #expect(readings.allSatisfy { $0 == readings.first })
  }

  @Test func errorIsRepeatedAfterwards() {
    var limits = MixedReplaceParser.Limits()
    limits.headBytes = 1
    var parser = MixedReplaceParser(boundary: "b", limits: limits)
    parser.append(Array("--b\r\nabc\r\n\r\n".utf8))
    for _ in 0..<2 { #expect(throws: MixedReplaceParser.Failure.headTooLarge) { try parser.next() } }
    parser.append(Array("--b\r\n\r\n".utf8))
    #expect(throws: MixedReplaceParser.Failure.headTooLarge) { try parser.next() }
  }

  /// Every body of a few bytes out of an alphabet of trouble: no crash, no endless loop, and one byte at a time gives
  /// what all at once gives.
  @Test func smallBodiesOfEveryKind() throws {
    let alphabet = Array("-b\r\n: ".utf8)
    let head = Array("--b\r\n".utf8)
    for number in 0..<(6 * 6 * 6 * 6 * 6) {
      var rest = number
      var bytes = head
      for _ in 0..<5 {
        bytes.append(alphabet[rest % alphabet.count])
        rest /= alphabet.count
      }
      let whole = try parts([bytes[...]], boundary: "b")
      let single = try parts(bytes.indices.map { bytes[$0...$0] }, boundary: "b")
      #expect(whole == single, "\(bytes)")
    }
  }

  @Test(
    arguments: [
      ("multipart/x-mixed-replace; boundary=b", "b"), ("Multipart/X-Mixed-Replace;boundary=\"a b\"", "a b"),
      ("multipart/x-mixed-replace;boundary=--cam", "--cam"), ("multipart/x-mixed-replace", nil),
      ("multipart/x-mixed-replace; boundary=", nil), ("multipart/mixed; boundary=b", nil), ("text/plain", nil),
      ("", nil),
    ] as [(String, String?)])
  func boundaries(_ contentType: String, _ boundary: String?) {
    #expect(MixedReplaceParser.boundary(in: contentType) == boundary)
  }

  @Test func tooLongBoundaryIsRefused() {
    let long = String(repeating: "b", count: 1001)
    #expect(MixedReplaceParser.boundary(in: "multipart/x-mixed-replace; boundary=\(long)") == nil)
  }
}
