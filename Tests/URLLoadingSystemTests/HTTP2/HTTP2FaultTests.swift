import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Servers of HTTP/2 that go away, refuse, break the rules or fall silent: every frame is scripted.
@Suite struct HTTP2FaultTests {
  private func withPeer(
    _ script: @escaping @Sendable (HTTP2Peer) async throws -> Void,
    configure: (URLSessionConfiguration) -> Void = { _ in },
    _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    let server = try await HTTP2Peer.start(script: script)
    try await server.withSession(configure: configure, body)
  }

  private func get(_ session: URLSession, _ url: URL, method: String = "GET") async throws -> String {
    var request = URLRequest(url: url)
    request.httpMethod = method
    if method == "POST" { request.httpBody = Data("body".utf8) }
    return String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  /// Answers every request with its path until the client closes.
  @Sendable private static func serve(_ peer: HTTP2Peer) async throws {
    while let (stream, fields) = try await peer.request() { try await peer.answer(stream, fields[":path"] ?? "") }
  }

  // MARK: What is sent again

  @Test(arguments: ["GET", "POST"])
  func whatIsRefusedIsSentAgain(_ method: String) async throws {
    try await withPeer({ peer in
      try await peer.greet()
      for _ in 0..<3 {
        guard let (stream, _) = try await peer.request() else { return }
        try await peer.write(HTTP2Peer.reset(stream, 7))
      }
      try await Self.serve(peer)
    }) { server, session in
      let answer1 = try await get(session, server.url("/again"), method: method)
      #expect(answer1 == "/again")
      #expect(server.connectionCount == 1)
    }
  }

  @Test func aServerThatRefusesForEverIsBelieved() async throws {
    let count = Recorder<Void>()
    try await withPeer({ peer in
      try await peer.greet()
      while let (stream, _) = try await peer.request() {
        count.record(())
        try await peer.write(HTTP2Peer.reset(stream, 7))
      }
    }) { server, session in
      let error = await #expect(throws: URLError.self) { try await get(session, server.url("/")) }
      #expect(error?.code == .networkConnectionLost)
      #expect(count.count == 7)
    }
  }

  /// Streams above the last one that GOAWAY names were not acted upon, those below are answered.
  @Test(arguments: ["GET", "POST"])
  func goingAwayLosesNothing(_ method: String) async throws {
    let first = Gate()
    try await withPeer({ peer in
      try await peer.greet()
      guard peer.connection.number == 1 else { return try await Self.serve(peer) }
      guard let (one, oneFields) = try await peer.request() else { return }
      first.open()
      guard let _ = try await peer.request() else { return }
      try await peer.write(HTTP2Peer.goAway(last: one, 0))
      try await peer.answer(one, oneFields[":path"] ?? "")
      while try await peer.read() != nil {}
    }) { server, session in
      async let one = get(session, server.url("/one"), method: method)
      try await first.wait()
      let two = try await get(session, server.url("/two"), method: method)
      let answer = try await one
      #expect(answer == "/one")
      #expect(two == "/two")
      #expect(server.connectionCount == 2)
    }
  }

  @Test func whatIsSentAgainIsOneTransaction() async throws {
    try await withPeer({ peer in
      try await peer.greet()
      guard peer.connection.number == 1 else { return try await Self.serve(peer) }
      for _ in 0..<2 {
        guard let (stream, _) = try await peer.request() else { return }
        try await peer.write(HTTP2Peer.reset(stream, 7))
      }
      guard let _ = try await peer.request() else { return }
      try await peer.write(HTTP2Peer.goAway(last: 0, 0))
      while try await peer.read() != nil {}
    }) { server, session in
      let metrics = try await MetricsTests.metrics(URLRequest(url: server.url("/once")), in: session)
      let statuses = metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode }
      #expect(statuses == [200] && metrics.redirectCount == 0)
      #expect(server.connectionCount == 2)
    }
  }

  /// Connections that end before they have answered anything: each time on a new one, with pauses from the third on.
  @Test func aServerThatLeavesAgainAndAgainIsFollowed() async throws {
    try await withPeer({ peer in
      try await peer.greet()
      guard peer.connection.number <= 4 else { return try await Self.serve(peer) }
      guard try await peer.request() != nil else { return }
      try await peer.write(HTTP2Peer.goAway(last: 0, 0))
      while try await peer.read() != nil {}
    }) { server, session in
      let start = ContinuousClock.now
      let answer = try await get(session, server.url("/there"), method: "POST")
      #expect(answer == "/there" && server.connectionCount == 5)
      // Half of 200 ms after the third, half of 400 ms after the fourth, at least.
      #expect(ContinuousClock.now - start >= .milliseconds(300))
    }
  }

  // MARK: Streams that were given up

  enum Lateness: Sendable, CaseIterable {
    case heads, body
  }

  /// What was on its way when a stream was given up is nobody's fault; what goes on and on is.
  @Test(arguments: Lateness.allCases) func aServerThatDoesNotStop(_ lateness: Lateness) async throws {
    let begun = Gate()
    try await withPeer({ peer in
      try await peer.greet()
      guard peer.connection.number == 1 else { return try await Self.serve(peer) }
      guard let (first, _) = try await peer.request() else { return }
      try await peer.write(HTTP2Peer.headers(first, [(":status", "200")]))
      begun.open()
      guard try await peer.read(type: 3) != nil, let (second, _) = try await peer.request() else { return }
      // A little is well.
      try await peer.write([HTTP2Peer.data(first, "late"), HTTP2Peer.headers(first, [("a", "b")], endsStream: true)])
      try await peer.answer(second, "answered")
      guard try await peer.request() != nil else { return }
      let piece = Array(repeating: UInt8(0), count: 16_384)
      let late = lateness == .heads ? HTTP2Peer.headers(first, [("a", "b")]) : HTTP2Peer.data(first, piece)
      do {
        for _ in 0..<50 { try await peer.write(Array(repeating: late, count: 50)) }
      } catch { return }
      while try await peer.read() != nil {}
    }) { server, session in
      let first = Task { try await session.data(from: server.url("/first")) }
      try await begun.wait(within: patience)
      first.cancel()
      _ = await first.result
      let second = try await get(session, server.url("/second"))
      #expect(second == "answered")
      let error = await #expect(throws: URLError.self) { try await get(session, server.url("/third")) }
      #expect(error?.code == .cannotParseResponse)
      let after = try await get(session, server.url("/after"))
      #expect(after == "/after" && server.connectionCount == 2)
    }
  }

  // MARK: Settings

  /// RFC 7541 §4.2: of a table's sizes the smallest is told, although it grew again in the same frame.
  @Test func theSmallestTableIsTold() async throws {
    let blocks = Recorder<[UInt8]>()
    try await withPeer({ peer in
      try await peer.greet([(1, 0), (1, 4_096)])
      while let frame = try await peer.read(type: 1) {
        blocks.record(frame.payload)
        try await peer.answer(frame.stream, "ok")
      }
    }) { server, session in
      for _ in 0..<2 { _ = try await get(session, server.url()) }
      // The first request may have left before the settings came.
      let told = blocks.all.filter { $0.starts(with: [0x20, 0x3f, 0xe1, 0x1f]) }
      #expect(blocks.count == 2 && told.count == 1)
    }
  }

  /// RFC 9113 §3.4: a server begins with SETTINGS. One that has agreed on HTTP/2 and does not may serve over another
  /// connection; whether it has acted upon a request is not known.
  @Test(arguments: [("GET", true), ("POST", false)])
  func aServerThatDoesNotBeginIsGivenUp(_ method: String, _ isRepeated: Bool) async throws {
    let reasons = Recorder<[UInt8]>()
    try await withPeer({ peer in
      guard peer.connection.number == 1 else {
        try await peer.greet()
        return try await Self.serve(peer)
      }
      _ = try await peer.connection.read(exactly: 24)
      if let frame = try await peer.read(type: 7) { reasons.record(Array(frame.payload.suffix(4))) }
      while try await peer.connection.read() != nil {}
    }) {
      $0.settingsPatience = .seconds(3)
    } _: { server, session in
      if isRepeated {
        let answer = try await get(session, server.url("/begun"), method: method)
        #expect(answer == "/begun" && server.connectionCount == 2)
      } else {
        let error = await #expect(throws: URLError.self) {
          try await get(session, server.url("/begun"), method: method)
        }
        #expect(error?.code == .timedOut && server.connectionCount == 1)
      }
      let reason = try await reasons.next()
      #expect(reason == HTTP2Peer.bigEndian(4))
    }
  }

  @Test func aServerThatNeverBeginsIsTriedTwice() async throws {
    try await withPeer({ peer in
      while try await peer.connection.read() != nil {}
    }) {
      $0.settingsPatience = .milliseconds(300)
    } _: { server, session in
      let error = await #expect(throws: URLError.self) { try await get(session, server.url("/")) }
      #expect(error?.code == .timedOut && server.connectionCount == 2)
    }
  }

  /// The limit is for the beginning alone.
  @Test func aServerThatHasBegunMayTakeItsTime() async throws {
    let slow = Gate()
    try await withPeer({ peer in
      try await peer.greet()
      guard let (stream, _) = try await peer.request() else { return }
      try await slow.wait()
      try await peer.answer(stream, "late")
      try await Self.serve(peer)
    }) {
      $0.settingsPatience = .seconds(2)
    } _: { server, session in
      let limit = ContinuousClock.now + .seconds(2)
      async let answer = get(session, server.url("/"))
      try await eventually("the limit to pass") { ContinuousClock.now > limit + .milliseconds(100) }
      slow.open()
      let text = try await answer
      #expect(text == "late" && server.connectionCount == 1)
    }
  }

  @Test func aServerThatWantsHTTP1GetsIt() async throws {
    var tls = try ServerTLS.localhost()
    tls.applicationProtocols = ["h2", "http/1.1"]
    let server = try await LoopbackServer.startRaw(tls: tls) { connection in
      guard try await connection.handshakeProtocol() == "h2" else {
        _ = try await connection.read()
        return try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\none")
      }
      let peer = HTTP2Peer(connection)
      try await peer.greet()
      while let (stream, _) = try await peer.request() { try await peer.write(HTTP2Peer.reset(stream, 0xd)) }
    }
    let session = URLSession(configuration: .loopback)
    let delegate = RecordingDelegate()
    var request = URLRequest(url: server.url("/"))
    request.httpMethod = "POST"
    request.httpBody = Data("body".utf8)
    let (data, _) = try await session.data(for: request, delegate: delegate)
    #expect(String(decoding: data, as: UTF8.self) == "one")
    let metrics = try await delegate.metrics.next()
    #expect(metrics.transactionMetrics.map(\.networkProtocolName) == ["http/1.1"])
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// The connection dies under a request after it had served: what may be repeated is.
  @Test(arguments: [("GET", true), ("POST", false)])
  func aStaleConnectionIsReplacedWhereThatIsSafe(_ method: String, _ isRepeated: Bool) async throws {
    try await withPeer({ peer in
      try await peer.greet()
      guard peer.connection.number == 1 else { return try await Self.serve(peer) }
      guard let (stream, fields) = try await peer.request() else { return }
      try await peer.answer(stream, fields[":path"] ?? "")
      _ = try await peer.request()
      peer.connection.reset()
    }) { server, session in
      _ = try await get(session, server.url("/first"))
      if isRepeated {
        let answer3 = try await get(session, server.url("/second"), method: method)
        #expect(answer3 == "/second")
      } else {
        let error = await #expect(throws: URLError.self) {
          try await get(session, server.url("/second"), method: method)
        }
        #expect(error?.code == .networkConnectionLost)
      }
    }
  }

  // MARK: What ends in an error

  struct Fault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let code: URLError.Code
    /// What answers the request on stream 1.
    let frames: [HTTP2Peer.Frame]
    /// Whether the connection is of use afterwards.
    var connectionSurvives = false

    init(_ description: String, _ code: URLError.Code, survives: Bool = false, _ frames: [HTTP2Peer.Frame]) {
      testDescription = description
      self.code = code
      self.frames = frames
      connectionSurvives = survives
    }

    private static let ok = HTTP2Peer.headers(1, [(":status", "200")])
    private static let interim = HTTP2Peer.headers(1, [(":status", "103")])
    private static func ok(length: String) -> HTTP2Peer.Frame {
      HTTP2Peer.headers(1, [(":status", "200"), ("content-length", length)])
    }
    /// A field of four thousand bytes for the dynamic table, and then heads of two hundred bytes that name it again and
    /// again (RFC 7541 §6.1, §6.2.1).
    private static let expanding: [HTTP2Peer.Frame] = {
      var first = HTTP2Peer.block([("x", String(repeating: "y", count: 3_900))])
      first[0] = 0x40
      let interim = HTTP2Peer.block([(":status", "103")])
      return [HTTP2Peer.Frame(type: 1, flags: 4, stream: 1, payload: interim + first)]
        + flood(50, .init(type: 1, flags: 4, stream: 1, payload: interim + Array(repeating: 0xbe, count: 60)))
    }()
    private static func flood(_ count: Int, _ frame: HTTP2Peer.Frame) -> [HTTP2Peer.Frame] {
      Array(repeating: frame, count: count)
    }

    static let all: [Fault] = [
      Fault("RST_STREAM with CANCEL", .networkConnectionLost, survives: true, [HTTP2Peer.reset(1, 8)]),
      Fault("RST_STREAM with INTERNAL_ERROR", .networkConnectionLost, survives: true, [ok, HTTP2Peer.reset(1, 2)]),
      Fault("RST_STREAM with INADEQUATE_SECURITY", .secureConnectionFailed, survives: true, [HTTP2Peer.reset(1, 12)]),
      Fault("no status", .cannotParseResponse, survives: true, [HTTP2Peer.headers(1, [("a", "b")])]),
      Fault(
        "a field of HTTP/1.1's", .cannotParseResponse, survives: true,
        [HTTP2Peer.headers(1, [(":status", "200"), ("connection", "close")])]),
      Fault("a body without a head", .cannotParseResponse, survives: true, [HTTP2Peer.data(1, "x")]),
      Fault(
        "a body that is too short", .networkConnectionLost, survives: true,
        [ok(length: "5"), HTTP2Peer.data(1, "abc", endsStream: true)]),
      Fault(
        "a body that is too long", .cannotParseResponse, survives: true, [ok(length: "1"), HTTP2Peer.data(1, "abc")]),
      Fault(
        "a window update of nothing", .cannotParseResponse, survives: true, [HTTP2Peer.windowUpdate(1, 0)]),
      Fault(
        "a window beyond measure", .cannotParseResponse, survives: true,
        [HTTP2Peer.windowUpdate(1, 0x7fff_ffff)]),
      Fault(
        "more fields than allowed", .dataLengthExceedsMaximum, survives: true,
        // RFC 7541 §6.1, Appendix A: `:status` 200, and an empty `accept-charset` in one byte each.
        [.init(type: 1, flags: 4, stream: 1, payload: [0x88] + Array(repeating: 0x8f, count: 5_001))]),
      Fault("interim responses without end", .dataLengthExceedsMaximum, survives: true, flood(300, interim)),
      Fault("interim responses that are small on the wire", .dataLengthExceedsMaximum, survives: true, expanding),
      Fault("the connection's window beyond measure", .cannotParseResponse, [HTTP2Peer.windowUpdate(0, 0x7fff_ffff)]),
      Fault(
        "compression that can't be undone", .cannotParseResponse, [.init(type: 1, flags: 4, stream: 1, payload: [0xff])]
      ),
      Fault("a stream that nobody opened", .cannotParseResponse, [HTTP2Peer.data(9, "x")]),
      Fault("a stream of the server's", .cannotParseResponse, [HTTP2Peer.headers(2, [(":status", "200")])]),
      Fault("a push", .cannotParseResponse, [.init(type: 5, flags: 4, stream: 1, payload: [0, 0, 0, 2])]),
      Fault(
        "a frame that is too long", .cannotParseResponse,
        [.init(type: 0, stream: 1, payload: Array(repeating: 0, count: 20_000))]),
      Fault("an impossible setting", .cannotParseResponse, [.init(type: 4, payload: [0, 2, 0, 0, 0, 1])]),
      Fault(
        "a flood of PING", .cannotParseResponse, flood(5_000, .init(type: 6, payload: Array(repeating: 0, count: 8)))),
      Fault("a flood of SETTINGS", .cannotParseResponse, flood(5_000, .init(type: 4))),
      Fault(
        "a flood of PING acknowledgements", .cannotParseResponse,
        flood(5_000, .init(type: 6, flags: 1, payload: Array(repeating: 0, count: 8)))),
      Fault("a flood of SETTINGS acknowledgements", .cannotParseResponse, flood(5_000, .init(type: 4, flags: 1))),
      Fault("a flood of GOAWAY", .cannotParseResponse, flood(5_000, HTTP2Peer.goAway(last: 0x7fff_ffff, 0))),
      Fault("a flood of empty DATA", .cannotParseResponse, [ok] + flood(5_000, HTTP2Peer.data(1, ""))),
      Fault("a flood of unknown frames", .cannotParseResponse, flood(5_000, .init(type: 0xbe))),
      Fault(
        "a flood of CONTINUATION", .cannotParseResponse,
        [HTTP2Peer.headers(1, [(":status", "200")], endsHeaders: false)] + flood(5_000, .init(type: 9, stream: 1))),
      Fault(
        "a flood of resets", .cannotParseResponse,
        [ok, HTTP2Peer.data(1, "x")] + flood(5_000, HTTP2Peer.reset(1, 8))),
    ]
  }

  @Test(arguments: Fault.all)
  func aFaultEndsInItsError(_ fault: Fault) async throws {
    try await withPeer({ peer in
      try await peer.greet()
      guard peer.connection.number == 1 else { return try await Self.serve(peer) }
      guard try await peer.request() != nil else { return }
      // The client may hang up in the middle.
      do { try await peer.write(fault.frames) } catch { return }
      try await Self.serve(peer)
    }) { server, session in
      let error = await #expect(throws: URLError.self) { try await get(session, server.url("/fault")) }
      if !fault.testDescription.contains("resets") {
        #expect(error?.code == fault.code, "\(String(describing: error))")
      }
      // The process goes on, and so does the session.
      let answer4 = try await get(session, server.url("/after"))
      #expect(answer4 == "/after")
      #expect(server.connectionCount == (fault.connectionSurvives ? 1 : 2))
    }
  }

  @Test func somethingElseThanHTTP2IsAnError() async throws {
    try await withPeer({ peer in
      try await peer.connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
      while try await peer.connection.read() != nil {}
    }) { server, session in
      let error = await #expect(throws: URLError.self) { try await get(session, server.url("/")) }
      #expect(error?.code == .cannotParseResponse)
    }
  }

  // MARK: Windows

  /// A server that never opens its window takes what fits and no more; the load ends by its own timer.
  @Test func aWindowThatIsNeverOpened() async throws {
    let received = Recorder<Int>()
    try await withPeer({ peer in
      try await peer.greet([(4, 1_000)])
      while let frame = try await peer.read() { if frame.type == 0 { received.record(frame.payload.count) } }
    }) { server, session in
      var request = URLRequest(url: server.url(), timeoutInterval: 1)
      request.httpMethod = "POST"
      let error = await #expect(throws: URLError.self) {
        try await session.upload(for: request, from: Data(count: 50_000))
      }
      #expect(error?.code == .timedOut)
      // SETTINGS may come after the first frames; then the window is below zero and no more is sent.
      #expect(received.all.reduce(0, +) <= 50_000)
    }
  }

  @Test func anUploadFollowsTheServersWindows() async throws {
    let count = 200_000
    try await withPeer({ peer in
      try await peer.greet([(4, 0)])
      // The settings are in force when they are acknowledged.
      var (first, isAcknowledged) = (UInt32?.none, false)
      while first == nil || !isAcknowledged, let frame = try await peer.read() {
        if frame.type == 1 { first = frame.stream }
        if frame.type == 4, frame.flags == 1 { isAcknowledged = true }
      }
      guard let first else { return }
      try await peer.answer(first, "ready")
      guard let stream = try await peer.read(type: 1)?.stream else { return }
      var received = 0
      while received < count {
        try await peer.write([HTTP2Peer.windowUpdate(stream, 7_000), HTTP2Peer.windowUpdate(0, 7_000)])
        var open = min(7_000, count - received)
        while open > 0, let frame = try await peer.read(type: 0) {
          #expect(frame.payload.count <= open)
          open -= frame.payload.count
          received += frame.payload.count
        }
      }
      try await peer.answer(stream, "\(received)")
      while try await peer.read() != nil {}
    }) { server, session in
      _ = try await get(session, server.url("/"))
      var request = URLRequest(url: server.url())
      request.httpMethod = "PUT"
      let (data, _) = try await session.upload(for: request, from: Data(count: count))
      #expect(String(decoding: data, as: UTF8.self) == "\(count)")
    }
  }
}
